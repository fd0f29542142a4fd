"""A lean forward pass for small Llama models: what decoding needs of one, and nothing else.

One text at a time, caches of keys and values that are written in place, matrices that belong together multiplied
together, and only the wanted rows taken through the output matrix. Attention, norms and the residual stream are float32
whatever the format of the weights; benchmarks/README.md says which kernels were tried and what they took.

Does not know: where files come from, tokenizers, sampling, transformers. Importing it does not load torch.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from specdec_core.models.protocol import ModelInfo

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


# --- products: x of shape (M, in) times a matrix of shape (out, in), as (M, out) -------------------------------------


def product(weight: "Tensor", dtype: "torch.dtype", device: str) -> "Product":
    """The product with ``weight``, rounded to ``dtype``.

    On the CPU in float32, a matrix that is stored as float16 stays float16 in memory and is widened on its way through
    the processor: the same numbers times the same numbers in float32, and half the bytes to fetch. That kernel takes
    hardly longer for five rows than for one, and gives each row the same bits however many there are.
    """
    import torch
    import torch.nn.functional as F

    if device == "cpu" and dtype == torch.float32 and weight.dtype == torch.float16 and _widens():
        run, packed = torch.ops.quantized.linear_dynamic_fp16.default, _pack_half(weight)
        return lambda x: run(x, packed)
    kept = weight.to(device=device, dtype=dtype)
    if dtype == torch.float32:
        return lambda x: F.linear(x, kept)
    return lambda x: F.linear(x.to(dtype), kept).float()


def _pack_half(weight: "Tensor") -> Any:
    import torch

    return torch.ops.quantized.linear_prepack_fp16(weight.float(), None)


@cache
def _widens() -> bool:
    """Whether this build of torch, on this processor, has the float16 kernel (FBGEMM: x86 with AVX2)."""
    import torch

    try:
        weight = torch.arange(16.0).view(2, 8)
        found = torch.ops.quantized.linear_dynamic_fp16(torch.ones(1, 8), _pack_half(weight))
        return bool(torch.equal(found, weight.sum(dim=1)[None]))
    except (AttributeError, RuntimeError):
        return False


def int8_product(steps: "Tensor", scale: "Tensor") -> "Product":
    """The product, on the CPU, with a matrix stored as int8 ``steps`` (out, in) times ``scale`` (out,).

    x is rounded to bfloat16 first and the product is bfloat16: good enough for a draft.
    """
    import torch

    run, scales = torch.ops.aten._weight_int8pack_mm.default, scale.bfloat16()
    return lambda x: run(x.bfloat16(), steps, scales)


# --- the model -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Layer:
    """One transformer layer: two norms and four products (queries, keys and values in one; gate and up in one).

    A norm's weight comes times sqrt(width), as ``LlamaModel._scale`` wants it.
    """

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
        self._complex = self.device.type != "mps"  # Apple's backend knows complex numbers only in part
        self._turns = _turns(shape).to(self.device if self._complex else "cpu")
        self._floor = norm.new_tensor((shape.width * shape.epsilon) ** 0.5)
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
            return self._head(self._scale(x[-last:], self._norm)).float().cpu().numpy()

    def _hidden(self, x: "Tensor", cache: "Cache") -> "Tensor":
        """The residual stream, (M, width), after all layers; the cache holds M tokens more afterwards."""
        import torch.nn.functional as F

        frame = self._frame(cache, x.shape[0])
        for n, layer in enumerate(self._layers):
            x = x + layer.out(self._attend(layer.qkv(self._scale(x, layer.norm)).float(), n, frame))
            gate_up = layer.gate_up(self._scale(x, layer.mlp_norm))
            inner = F.silu(gate_up[:, : self.shape.inner]) * gate_up[:, self.shape.inner :]
            x = x + layer.down(inner)
        cache.length += x.shape[0]
        return x

    def _scale(self, x: "Tensor", weight: "Tensor") -> "Tensor":
        """Each row over its root mean square, times the norm's weight (Zhang and Sennrich 2019).

        ``weight`` is the norm's times sqrt(width), so that x w / hypot(|x|, sqrt(width epsilon)) is the quotient: four
        small steps instead of the ten that the library takes, and the same bits for a row whatever stands beside it.
        """
        import torch

        length = torch.linalg.vector_norm(x, 2, 1, True)
        return (x * weight).div_(torch.hypot(length, self._floor))

    def _frame(self, cache: "Cache", rows: int) -> "Frame":
        """What all layers need to know of where M new tokens stand."""
        import torch

        s, kv = self.shape, self.shape.kv_heads
        store = cache.reserve(rows)
        start, end = cache.length, cache.length + rows
        turns = self._turns[start:end, None]
        turns = torch.cat(
            (
                (turns * s.head_size**-0.5).expand(-1, s.heads, -1),
                turns.expand(-1, kv, -1),
                torch.ones_like(turns).expand(-1, kv, -1),
            ),
            dim=1,
        )
        return Frame(
            turns=turns if self._complex else torch.view_as_real(turns).to(self.device),
            places=store[:, :, start:end].unbind(0),
            keys=store[:, :kv, :end].transpose(2, 3).unbind(0),
            values=store[:, kv:, :end].unbind(0),
            mask=_causal(rows, end, s.heads // kv, self.device) if rows > 1 else None,
        )

    def _attend(self, qkv: "Tensor", n: int, frame: "Frame") -> "Tensor":
        """Attention of M new tokens over the L cached ones, themselves included, in layer ``n``.

        qkv: (M, (heads + 2 kv_heads) head_size), overwritten. Returns (M, width).
        """
        import torch

        s, rows = self.shape, qkv.shape[0]
        _turn(qkv.view(rows, s.heads + 2 * s.kv_heads, s.head_size // 2, 2), frame.turns)
        heads = qkv.view(rows, s.heads + 2 * s.kv_heads, s.head_size).transpose(0, 1)
        frame.places[n].copy_(heads[s.heads :])
        # The queries that share a key head stand below one another: one product per key head serves them all.
        q = heads[: s.heads].reshape(s.kv_heads, -1, s.head_size)
        scores = torch.bmm(q, frame.keys[n]) if frame.mask is None else torch.baddbmm(frame.mask, q, frame.keys[n])
        mixed = torch.bmm(scores.softmax(dim=-1), frame.values[n])
        if rows == 1:
            return mixed.view(1, -1)
        return mixed.view(s.heads, rows, s.head_size).transpose(0, 1).reshape(rows, -1)


@dataclass(frozen=True)
class Frame:
    """One pass, seen from all its layers: the M new tokens' places in the cache, and what they may look at.

    turns: (M, heads + 2 kv_heads, head_size / 2), complex: the rotary turn of every query and key, with the queries'
    1/sqrt(head_size) in it, and 1 for the values. Per layer: places (2 kv_heads, M, head_size), keys (kv_heads,
    head_size, L), values (kv_heads, L, head_size). mask: (heads / kv_heads M, L), None for a single token.
    """

    turns: "Tensor"
    places: "Sequence[Tensor]"
    keys: "Sequence[Tensor]"
    values: "Sequence[Tensor]"
    mask: "Tensor | None"


def _pieces(ids: "Tensor", size: int) -> "Sequence[Tensor]":
    """``ids`` in pieces of ``size``; the first may be shorter, so that the last is not."""
    first = len(ids) % size
    return ([ids[:first]] if first else []) + list(ids[first:].split(size) if len(ids) > first else ())


def _turns(shape: Shape) -> "Tensor":
    """The rotary turns e^(i angle), (context, head_size / 2), complex (Su et al. 2021)."""
    import torch

    steps = torch.arange(0, shape.head_size, 2, dtype=torch.float64) / shape.head_size
    angles = torch.outer(torch.arange(shape.context, dtype=torch.float64), shape.theta**-steps)
    return torch.polar(torch.ones_like(angles), angles).to(torch.complex64)


def _turn(pairs: "Tensor", turns: "Tensor") -> None:
    """Turn each pair (a, b) of the last axis in place: a + ib times the turn, which is complex or a pair itself."""
    import torch

    if turns.is_complex():
        torch.view_as_complex(pairs).mul_(turns)
        return
    a, b, cos, sin = pairs[..., 0].clone(), pairs[..., 1].clone(), turns[..., 0], turns[..., 1]
    pairs[..., 0], pairs[..., 1] = a * cos - b * sin, b * cos + a * sin


def _causal(rows: int, length: int, group: int, device: "torch.device") -> "Tensor":
    """(group M, L): 0 where a new token may look, -inf where what it would see lies ahead of it."""
    import torch

    return torch.full((rows, length), -torch.inf, device=device).triu(length - rows + 1).repeat(group, 1)


# --- cache and session -----------------------------------------------------------------------------------------------


class Cache:
    """Keys and values of one text, (layers, 2 kv_heads, room, head_size). Forgetting is a matter of ``length``."""

    def __init__(self, shape: Shape, device: "torch.device") -> None:
        self.length = 0
        self._shape, self._device = shape, device
        self._store: Tensor | None = None

    def reserve(self, rows: int) -> "Tensor":
        """The store, with room for ``rows`` more tokens."""
        import torch

        if self._store is not None and self.length + rows <= self._store.shape[2]:
            return self._store
        room = min(-(-(self.length + rows) // CACHE_STEP) * CACHE_STEP, max(self._shape.context, self.length + rows))
        s = self._shape
        store = torch.empty((s.layers, 2 * s.kv_heads, room, s.head_size), device=self._device)
        if self._store is not None:
            store[:, :, : self.length] = self._store[:, :, : self.length]
        self._store = store
        return store


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
