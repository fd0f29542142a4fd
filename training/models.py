"""The draft before training, and the way from a trained module to the file that ships.

Does not know: data, losses, schedules.
"""

import copy
import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from specdec_core.models import embedded

# The ends of the network do work that nothing else does (the first layers read the words, the last ones form the
# output); the middle repeats itself, so it is thinned out.
LAYERS = (0, 1, 2, 8, 11, 21, 24, 27, 28, 29)


def first_draft(target: Any, layers: tuple[int, ...] = LAYERS) -> Any:
    """The target's body (no head) with copies of some of its layers. Everything but the embedding is trainable."""
    body = copy.copy(target.model)
    body._modules = dict(target.model._modules)
    body.config = draft_config(target.config, len(layers))
    body.layers = nn.ModuleList(copy.deepcopy(target.model.layers[i]) for i in layers)
    body.norm = copy.deepcopy(target.model.norm)
    for index, layer in enumerate(body.layers):
        layer.self_attn.layer_idx = index
    body.layers.requires_grad_(True)
    body.norm.requires_grad_(True)
    return body


def draft_config(config: Any, layers: int) -> Any:
    """The target's config with fewer layers and a head of its own (its rows are the target's, but not all of them)."""
    small = copy.deepcopy(config)
    small.num_hidden_layers = layers
    small.tie_word_embeddings = False
    if getattr(small, "layer_types", None):
        small.layer_types = small.layer_types[:layers]
    return small


def trained_state(body: nn.Module) -> dict[str, Tensor]:
    """The weights that training changes, under the names of a LlamaForCausalLM."""
    state = body.state_dict()
    return {f"model.{k}": v.detach().clone() for k, v in state.items() if k.startswith(("layers.", "norm."))}


def export(body: Any, output_ids: Tensor, folder: Path) -> Path:
    """Quantise and write ``draft.safetensors`` and ``config.json``; returns the weights' path."""
    stored = embedded.quantise(trained_state(body))
    stored[embedded.OUTPUT_IDS] = output_ids.to(torch.int32)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / embedded.DRAFT_WEIGHTS
    partial = path.with_suffix(".partial")
    save_file(stored, str(partial), metadata={"format": "pt"})
    partial.chmod(0o644)
    partial.replace(path)
    config = {k: v for k, v in body.config.to_dict().items() if k not in ("dtype", "torch_dtype", "_name_or_path")}
    config["architectures"] = ["LlamaForCausalLM"]
    (folder / embedded.DRAFT_CONFIG).write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    return path
