"""The embedded pair's files as lean Llama models: tensors in, ``LlamaModel`` out.

Does not know: where files come from, sessions, decoding. Importing it does not load torch.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from specdec_core.models.llama import Layer, LlamaModel, Shape, int8_product, product
from specdec_core.models.protocol import ModelUnavailable

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from specdec_core.models.llama import Product


def load_target(folder: Path, name: str, dtype: "torch.dtype", device: str) -> LlamaModel:
    """The model in ``folder``: config.json, and model.safetensors with tied embeddings. Raises ModelUnavailable."""
    tensors, shape = _read(folder / "model.safetensors", name), _read_shape(folder, name)
    embedding = _table(tensors["model.embed_tokens.weight"], dtype, device)
    label = str(dtype).removeprefix("torch.")
    return build(name, shape, tensors, embedding, product(embedding, dtype, device), dtype, device, label)


def load_draft(
    folder: Path,
    name: str,
    tensors: "Mapping[str, Tensor]",
    target: LlamaModel,
    dtype: "torch.dtype",
    device: str,
    int8: bool | None = None,
) -> LlamaModel:
    """A draft that shares the target's embedding and scores only ``tensors["output_ids"]``.

    int8: keep its matrices int8, by default on the CPU. The output matrix becomes int8 too, then. q is whatever the
    draft then computes, so that costs at most a little of alpha, never exactness. Raises ModelUnavailable.
    """
    int8 = device == "cpu" if int8 is None else int8
    ids = tensors["output_ids"].long()
    rows = target.embedding[ids.to(target.device)]
    shape, label = _read_shape(folder, name), "int8" if int8 else str(dtype).removeprefix("torch.")
    head = _quantised(rows.float()) if int8 else product(rows, dtype, device)
    stored = tensors if int8 else _expanded(tensors)
    return build(name, shape, stored, target.embedding, head, dtype, device, label, ids.numpy().astype(np.int64))


def _table(weight: "Tensor", dtype: "torch.dtype", device: str) -> "Tensor":
    """The embedding as it is kept: in its own format where ``dtype`` is wider, because looking up widens it anyway.

    A copy: what was read is a view of the file, and if that were cut short, the next look would end the process.
    """
    kept = weight.dtype if weight.dtype.itemsize < dtype.itemsize else dtype
    return weight.to(device=device, dtype=kept, copy=True)


def _quantised(weight: "Tensor") -> "Product":
    scale = (weight.abs().amax(dim=1) / 127).clamp(min=2.0**-24)
    return int8_product((weight / scale[:, None]).round().char(), scale)


def _expanded(tensors: "Mapping[str, Tensor]") -> "dict[str, Tensor]":
    """float32 matrices instead of int8 ones with scales."""

    def wide(name: str, tensor: "Tensor") -> "Tensor":
        scale = tensors.get(_scale(name))
        return tensor if scale is None or name.endswith(".scale") else tensor.float() * scale.float()[:, None]

    return {name: wide(name, tensor) for name, tensor in tensors.items() if not name.endswith(".scale")}


def _scale(name: str) -> str:
    return name.removesuffix(".weight") + ".scale"


def build(
    name: str,
    shape: Shape,
    tensors: "Mapping[str, Tensor]",
    embedding: "Tensor",
    head: "Product",
    dtype: "torch.dtype",
    device: str,
    label: str,
    output_ids: NDArray[np.int64] | None = None,
) -> LlamaModel:
    """A model from tensors with the names of a LlamaForCausalLM, int8 matrices with a ``NAME.scale`` beside them.

    Raises ModelUnavailable when a tensor is missing.
    """

    def matrix(n: int, *names: str) -> "Product":
        return _stacked(tensors, [f"model.layers.{n}.{x}_proj" for x in names], shape, dtype, device)

    def norm(key: str) -> "Tensor":
        return (tensors[key].float() * shape.width**0.5).to(device)

    try:
        layers = [
            Layer(
                norm=norm(f"model.layers.{n}.input_layernorm.weight"),
                qkv=matrix(n, "self_attn.q", "self_attn.k", "self_attn.v"),
                out=matrix(n, "self_attn.o"),
                mlp_norm=norm(f"model.layers.{n}.post_attention_layernorm.weight"),
                gate_up=matrix(n, "mlp.gate", "mlp.up"),
                down=matrix(n, "mlp.down"),
            )
            for n in range(shape.layers)
        ]
        last = norm("model.norm.weight")
    except KeyError as error:
        raise ModelUnavailable(f"{name} is not whole: its file lacks the weight {error.args[0]}.") from None
    stored = sum(t.numel() for key, t in tensors.items() if key.endswith("weight"))
    return LlamaModel(name, shape, embedding, layers, last, head, output_ids, label, stored)


def _stacked(
    tensors: "Mapping[str, Tensor]", names: Sequence[str], shape: Shape, dtype: "torch.dtype", device: str
) -> "Product":
    """The product with several matrices that read the same input, stacked into one."""
    import torch

    weight = torch.cat([_paired(name, tensors[f"{name}.weight"], shape) for name in names])
    if f"{names[0]}.scale" not in tensors:
        return product(weight, dtype, device)
    return int8_product(weight, torch.cat([_paired(name, tensors[f"{name}.scale"], shape) for name in names]))


def _paired(name: str, rows: "Tensor", shape: Shape) -> "Tensor":
    """Rows of queries and keys in the order that ``llama._turn`` wants: the halves of a head interleaved.

    Llama turns entry j of a head with entry j + head_size / 2. Queries and keys permuted alike give the same scores.
    """
    if not name.endswith(("q_proj", "k_proj")):
        return rows
    heads = rows.unflatten(0, (-1, 2, shape.head_size // 2))
    return heads.transpose(1, 2).reshape(rows.shape)


def _read(path: Path, name: str) -> "dict[str, Tensor]":
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(str(path))
    except (OSError, SafetensorError) as error:
        raise ModelUnavailable(f"{name} cannot be read: {error}.") from error


def _read_shape(folder: Path, name: str) -> Shape:
    try:
        return Shape.from_config(json.loads((folder / "config.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelUnavailable(f"{name} cannot be read: its config.json does not fit ({error}).") from error
