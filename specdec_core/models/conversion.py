"""GGUF to what transformers loads in seconds: safetensors, config, tokenizer.

Does not know: where the file came from, where the result goes. Importing it loads neither torch nor transformers.
"""

import json
from pathlib import Path
from typing import Any

from specdec_core.models.huggingface import quiet

TARGET_WEIGHTS = "model.safetensors"


def convert(gguf: Path, folder: Path) -> None:
    """Write safetensors, config and tokenizer files into ``folder``.

    transformers reads GGUF but will not save what came from it, hence the state dict by hand. The matrices go to
    float16: the file holds 4-bit (Q4_1) and 8-bit (Q8_0) numbers times a float16 scale, so float16 keeps them to one
    part in 2048, eight times closer than bfloat16, at half the size of float32. Norms stay float32.
    """
    import torch
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM

    with quiet():
        model = AutoModelForCausalLM.from_pretrained(str(gguf.parent), gguf_file=gguf.name, dtype=torch.float32)
    state = {
        name: (tensor.half() if tensor.dim() == 2 else tensor).contiguous()
        for name, tensor in model.state_dict().items()
        if name != "lm_head.weight"  # tied to the embedding
    }
    save_file(state, str(folder / TARGET_WEIGHTS), metadata={"format": "pt"})
    (folder / TARGET_WEIGHTS).chmod(0o644)  # safetensors writes for the owner alone; a cache may be shared
    (folder / "config.json").write_text(json.dumps(_plain_config(model.config), indent=1), encoding="utf-8")
    _convert_tokenizer(gguf, folder)


def _plain_config(config: Any) -> dict[str, Any]:
    kept = config.to_dict()
    for name in ("quantization_config", "_name_or_path", "_model_name_or_path", "dtype", "torch_dtype"):
        kept.pop(name, None)
    kept["architectures"] = ["LlamaForCausalLM"]
    return kept


def _convert_tokenizer(gguf: Path, folder: Path) -> None:
    """GGUF names its splitting rule ("smollm") but transformers does not read it: digits stand alone, then bytes."""
    from tokenizers import pre_tokenizers
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name)
    split = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(split)
    tokenizer.model_max_length = 8192
    tokenizer.save_pretrained(str(folder))
