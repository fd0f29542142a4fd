"""A lean forward pass for small Llama models: what decoding needs of one, and nothing else.

One text at a time, caches of keys and values that are written in place, matrices that belong together multiplied
together, and only the wanted rows taken through the output matrix. On the CPU a product is done by whichever kernel
is quickest for its number of rows (benchmarks/README.md holds the measurements). Attention, norms and the residual
stream are float32 whatever the format of the weights.

Does not know: where files come from, tokenizers, sampling, transformers. Importing it does not load torch.
"""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from specdec_core.models.protocol import ModelInfo, ModelUnavailable

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    Product = Callable[[Tensor], Tensor]

#: Keys and values are kept for this many more tokens whenever the cache is full.
CACHE_STEP = 256
#: A long prompt is read in pieces, so that attention scores stay at some tens of megabytes.
CHUNK = 256


@dataclass(frozen=True)
class Shape:
    """The sizes that a Llama config names."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    head_size: int
    inner: int
    vocabulary: int
    context: int
    epsilon: float
    theta: float

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "Shape":
        """From a config.json. Raises ValueError for a variant that this forward pass does not compute."""
        rope = config.get("rope_parameters") or {"rope_theta": config.get("rope_theta", 10000.0)}
        plain = rope.get("rope_type", "default") == "default" and config.get("hidden_act", "silu") == "silu"
        if not plain or config.get("attention_bias") or config.get("mlp_bias"):
            raise ValueError("only plain Llama models are computed here: silu, no biases, plain rotary positions.")
        width, heads = config["hidden_size"], config["num_attention_heads"]
        return cls(
            layers=config["num_hidden_layers"],
            width=width,
            heads=heads,
            kv_heads=config.get("num_key_value_heads") or heads,
            head_size=config.get("head_dim") or width // heads,
            inner=config["intermediate_size"],
            vocabulary=config["vocab_size"],
            context=config["max_position_embeddings"],
            epsilon=config["rms_norm_eps"],
            theta=float(rope["rope_theta"]),
        )


# --- products: x of shape (M, in), float32, times a matrix of shape (out, in), as (M, out), float32 ------------------


def product(weight: "Tensor", dtype: "torch.dtype", device: str) -> "Product":
    """The product with ``weight``, rounded to ``dtype``."""
    import torch
    import torch.nn.functional as F

    kept = weight.to(device=device, dtype=dtype)
    if device == "cpu" and dtype in (torch.float32, torch.bfloat16):
        return _CpuProduct(kept)
    if dtype == torch.float32:
        return lambda x: F.linear(x, kept)
    return lambda x: F.linear(x.to(dtype), kept).float()


class _CpuProduct:
    """One row by a matrix-vector kernel on the weights as they are; more rows by oneDNN on a packed float32 copy.

    Both compute with the same (rounded) weights. torch's own kernels for two to sixteen rows take up to three times as
    long as the packed one, whose time hardly grows with the rows. The copy is made when first needed.
    """

    def __init__(self, weight: "Tensor") -> None:
        self._weight = weight
        self._packed: Tensor | None = None

    def __call__(self, x: "Tensor") -> "Tensor":
        import torch
        import torch.nn.functional as F

        if x.shape[0] == 1:
            return F.linear(x.to(self._weight.dtype), self._weight).float()
        if self._packed is None:
            self._packed = _packed(self._weight)
        if self._packed.is_mkldnn:
            return torch.ops.mkldnn._linear_pointwise(x, self._packed, None, "none", [], "")
        return F.linear(x, self._packed)


def _packed(weight: "Tensor") -> "Tensor":
    """A float32 copy in oneDNN's own layout, or as it is where this build of torch cannot make one."""
    import torch

    full = weight.float()
    try:
        return torch.ops.mkldnn._reorder_linear_weight(full, 4)
    except (AttributeError, RuntimeError):
        return full


def int8_product(steps: "Tensor", scale: "Tensor", dtype: "torch.dtype", device: str) -> "Product":
    """The product with a matrix stored as int8 ``steps`` (out, in) times ``scale`` (out,).

    On the CPU the weights stay int8, which is what makes a small draft quick; elsewhere they are expanded to ``dtype``.
    """
    import torch

    if device != "cpu" or dtype == torch.float32:
        return product(steps.float() * scale.float()[:, None], dtype, device)
    scales = scale.bfloat16()
    return lambda x: torch.ops.aten._weight_int8pack_mm(x.bfloat16(), steps, scales).float()


# --- the model -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Layer:
    """One transformer layer: two norms and four products (queries, keys and values in one; gate and up in one)."""

    norm: "Tensor"
    qkv: "Product"
    out: "Product"
    mlp_norm: "Tensor"
    gate_up: "Product"
    down: "Product"


class LlamaModel:
    """A Llama that any number of sessions share; one lock guards the pass.

    embedding: (vocabulary, width). output_ids: which token each row of ``head`` scores, ascending; None for all of
    them in order. No other token is ever proposed: its logit is ``-inf``.
    """

    def __init__(
        self,
        name: str,
        shape: Shape,
        embedding: "Tensor",
        layers: Sequence[Layer],
        norm: "Tensor",
        head: "Product",
        output_ids: NDArray[np.int64] | None = None,
        dtype: str = "float32",
        parameters: int | None = None,
    ) -> None:
        self.shape, self.lock = shape, threading.Lock()
        self.output_ids = output_ids
        self.device = embedding.device
        self.embedding, self._layers, self._norm, self._head = embedding, tuple(layers), norm, head
        self._turns = _turns(shape).to(self.device)
        self._info = ModelInfo(name, str(self.device), dtype, parameters, shape.layers)

    @property
    def info(self) -> ModelInfo:
        return self._info

    @property
    def vocabulary_size(self) -> int:
        return self.shape.vocabulary

    @property
    def context_length(self) -> int | None:
        return self.shape.context

    def start(self) -> "LlamaSession":
        return LlamaSession(self)

    def forward(self, tokens: Sequence[int], cache: "Cache", last: int) -> NDArray[np.float32]:
        """One pass over ``tokens``, which extends ``cache``; ``(last, K)`` logits, one column per row of the head."""
        import torch

        with self.lock, torch.inference_mode():
            ids = torch.tensor(list(tokens), dtype=torch.long).to(self.device)
            for piece in _pieces(ids, max(CHUNK, last)):
                x = self._hidden(self.embedding[piece].float(), cache)
            x = torch.rms_norm(x[-last:], (self.shape.width,), self._norm, self.shape.epsilon)
            return self._head(x).cpu().numpy()

    def _hidden(self, x: "Tensor", cache: "Cache") -> "Tensor":
        """The residual stream, (M, width), after all layers; the cache holds M tokens more afterwards."""
        import torch
        import torch.nn.functional as F

        s, rows = self.shape, x.shape[0]
        cache.reserve(rows)
        turns = self._turns[cache.length : cache.length + rows, None]
        mask = _causal(rows, x.device) if rows > 1 else None
        for n, layer in enumerate(self._layers):
            qkv = layer.qkv(torch.rms_norm(x, (s.width,), layer.norm, s.epsilon))
            x = x + layer.out(self._attend(qkv, cache.layer(n, rows), turns, mask))
            gate, up = layer.gate_up(torch.rms_norm(x, (s.width,), layer.mlp_norm, s.epsilon)).split(s.inner, dim=1)
            x = x + layer.down(F.silu(gate) * up)
        cache.length += rows
        return x

    def _attend(self, qkv: "Tensor", cached: "Tensor", turns: "Tensor", mask: "Tensor | None") -> "Tensor":
        """Attention of M new tokens over the L cached ones, themselves included.

        qkv: (M, (heads + 2 kv_heads) head_size), overwritten. cached: (2 kv_heads, L, head_size), keys first; its last
        M places are written. Returns (M, width).
        """
        import torch

        s, rows = self.shape, qkv.shape[0]
        qkv = qkv.view(rows, s.heads + 2 * s.kv_heads, s.head_size)
        _turn(qkv[:, : s.heads + s.kv_heads], turns)
        cached[:, -rows:] = qkv[:, s.heads :].transpose(0, 1)
        keys, values = cached[: s.kv_heads], cached[s.kv_heads :]
        # The queries that share a key head stand below one another: one product per key head serves them all.
        group = s.heads // s.kv_heads
        q = qkv[:, : s.heads].view(rows, s.kv_heads, group, s.head_size).permute(1, 2, 0, 3)
        q = q.reshape(s.kv_heads, group * rows, s.head_size)
        scores = torch.bmm(q, keys.transpose(1, 2)).mul_(s.head_size**-0.5)
        if mask is not None:
            scores.view(s.kv_heads, group, rows, -1)[..., -rows:] += mask
        mixed = torch.bmm(scores.softmax(dim=-1), values)
        return mixed.view(s.kv_heads, group, rows, s.head_size).permute(2, 0, 1, 3).reshape(rows, -1)


def _pieces(ids: "Tensor", size: int) -> "Sequence[Tensor]":
    """``ids`` in pieces of ``size``; the first may be shorter, so that the last is not."""
    first = len(ids) % size
    return ([ids[:first]] if first else []) + list(ids[first:].split(size) if len(ids) > first else ())


def _turns(shape: Shape) -> "Tensor":
    """The rotary turns as cosine and sine, (context, head_size / 2, 2), float32 (Su et al. 2021)."""
    import torch

    steps = torch.arange(0, shape.head_size, 2, dtype=torch.float64) / shape.head_size
    angles = torch.outer(torch.arange(shape.context, dtype=torch.float64), shape.theta**-steps)
    return torch.stack([angles.cos(), angles.sin()], dim=-1).float()


def _turn(x: "Tensor", turns: "Tensor") -> None:
    """Turn neighbouring pairs of x, (M, heads, head_size), in place: (a + ib) times (cos + i sin)."""
    import torch

    pairs = x.unflatten(-1, (-1, 2))
    if x.device.type != "mps":  # where torch has complex numbers, one product does it
        torch.view_as_complex(pairs).mul_(torch.view_as_complex(turns))
        return
    a, b, cos, sin = pairs[..., 0].clone(), pairs[..., 1].clone(), turns[..., 0], turns[..., 1]
    pairs[..., 0], pairs[..., 1] = a * cos - b * sin, b * cos + a * sin


def _causal(rows: int, device: "torch.device") -> "Tensor":
    """(M, M): 0 where a new token may look at another, -inf where it lies ahead."""
    import torch

    return torch.full((rows, rows), -torch.inf, device=device).triu(1)


# --- cache and session -----------------------------------------------------------------------------------------------


class Cache:
    """Keys and values of one text, (layers, 2 kv_heads, room, head_size). Forgetting is a matter of ``length``."""

    def __init__(self, shape: Shape, device: "torch.device") -> None:
        self.length = 0
        self._shape, self._device = shape, device
        self._store: Tensor | None = None

    def reserve(self, rows: int) -> None:
        """Room for ``rows`` more tokens."""
        import torch

        room = 0 if self._store is None else self._store.shape[2]
        if self.length + rows <= room:
            return
        room = min(-(-(self.length + rows) // CACHE_STEP) * CACHE_STEP, max(self._shape.context, self.length + rows))
        s = self._shape
        store = torch.empty((s.layers, 2 * s.kv_heads, room, s.head_size), device=self._device)
        if self._store is not None:
            store[:, :, : self.length] = self._store[:, :, : self.length]
        self._store = store

    def layer(self, n: int, rows: int) -> "Tensor":
        """Layer ``n``'s keys and values with the places of ``rows`` new tokens at the end."""
        assert self._store is not None
        return self._store[n, :, : self.length + rows]


class LlamaSession:
    """One text in the making. Raises ValueError when asked to hold more than the context."""

    def __init__(self, model: LlamaModel) -> None:
        self._model = model
        self._cache = Cache(model.shape, model.device)

    @property
    def length(self) -> int:
        return self._cache.length

    def extend(self, tokens: Sequence[int], last: int = 1) -> NDArray[np.floating]:
        rows = self.extend_narrow(tokens, last)
        ids = self._model.output_ids
        if ids is None:
            return rows
        full = np.full((last, self._model.vocabulary_size), -np.inf, dtype=rows.dtype)
        full[:, ids] = rows
        return full

    def extend_narrow(self, tokens: Sequence[int], last: int = 1) -> NDArray[np.floating]:
        """As ``extend``, but only the columns of ``output_ids``: shape ``(last, K)``."""
        total = self.length + len(tokens)
        if total > self._model.shape.context:
            raise ValueError(f"{total} tokens do not fit into a context of {self._model.shape.context}.")
        if not 1 <= last <= len(tokens):
            raise ValueError(f"the last {last} of {len(tokens)} new tokens cannot be scored.")
        return self._model.forward(tokens, self._cache, last)

    def rollback(self, length: int) -> None:
        if not 0 <= length <= self.length:
            raise ValueError(f"cannot roll back to {length} of {self.length} tokens.")
        self._cache.length = length


# --- from stored tensors ---------------------------------------------------------------------------------------------


def build(
    name: str,
    shape: Shape,
    tensors: "Mapping[str, Tensor]",
    embedding: "Tensor",
    head: "Product",
    dtype: "torch.dtype",
    device: str,
    output_ids: NDArray[np.int64] | None = None,
) -> LlamaModel:
    """A model from tensors with the names of a LlamaForCausalLM.

    A matrix is either there as it is, or as int8 ``NAME.weight`` with ``NAME.scale`` (see models.embedded).
    """

    def matrix(n: int, *names: str) -> "Product":
        return _product_of(tensors, [f"model.layers.{n}.{x}_proj" for x in names], shape, dtype, device)

    def norm(key: str) -> "Tensor":
        return tensors[key].float().to(device)

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
    stored = sum(t.numel() for key, t in tensors.items() if key.endswith("weight"))
    return LlamaModel(
        name,
        shape,
        embedding.to(device=device, dtype=dtype),
        layers,
        norm("model.norm.weight"),
        head,
        output_ids,
        str(dtype).removeprefix("torch."),
        stored,
    )


def load_target(folder: Path, name: str, dtype: "torch.dtype", device: str) -> LlamaModel:
    """The model in ``folder``: config.json, and model.safetensors with tied embeddings. Raises ModelUnavailable."""
    tensors, shape = _read(folder / "model.safetensors", name), _read_shape(folder, name)
    embedding = tensors["model.embed_tokens.weight"].to(device=device, dtype=dtype)
    return build(name, shape, tensors, embedding, product(embedding, dtype, device), dtype, device)


def load_draft(
    folder: Path, name: str, tensors: "Mapping[str, Tensor]", target: LlamaModel, dtype: "torch.dtype", device: str
) -> LlamaModel:
    """A draft that shares the target's embedding and scores only ``tensors["output_ids"]``.

    On the CPU its output matrix becomes int8 too, as its layers are: q is whatever the draft then computes, so that
    costs at most a little of alpha, never exactness. Raises ModelUnavailable.
    """
    ids = tensors["output_ids"].long()
    rows = target.embedding[ids.to(target.device)].float()
    scale = (rows.abs().amax(dim=1) / 127).clamp(min=2.0**-24)
    narrow = device == "cpu" and dtype != rows.dtype
    head = (
        int8_product((rows / scale[:, None]).round().char(), scale, dtype, device)
        if narrow
        else product(rows, dtype, device)
    )
    return build(
        name, _read_shape(folder, name), tensors, target.embedding, head, dtype, device, ids.numpy().astype(np.int64)
    )


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


def _product_of(
    tensors: "Mapping[str, Tensor]", names: Sequence[str], shape: Shape, dtype: "torch.dtype", device: str
) -> "Product":
    """The product with several matrices that read the same input, stacked into one."""
    import torch

    weight = torch.cat([_paired(name, tensors[f"{name}.weight"], shape) for name in names])
    if f"{names[0]}.scale" not in tensors:
        return product(weight, dtype, device)
    scale = torch.cat([_paired(name, tensors[f"{name}.scale"], shape) for name in names])
    return int8_product(weight.contiguous(), scale, dtype, device)


def _paired(name: str, rows: "Tensor", shape: Shape) -> "Tensor":
    """Rows of queries and keys in the order that ``_turn`` wants: the halves of a head interleaved.

    Llama turns entry j of a head with entry j + head_size / 2. Queries and keys permuted alike give the same scores.
    """
    if not name.endswith(("q_proj", "k_proj")):
        return rows
    heads = rows.unflatten(0, (-1, 2, shape.head_size // 2))
    return heads.transpose(1, 2).reshape(rows.shape)
