"""Causal language models of the transformers library, behind the protocol that decoding asks for.

Safetensors only, no remote code. Nothing of a model's generation_config is used but its end-of-text tokens: the
settings on the screen are all the settings there are.

Does not know: which pairs exist, the acceptance rule, the screen. Importing it loads neither torch nor transformers.
"""

import inspect
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from specdec_core.foreign import has_surrogate
from specdec_core.models import weights
from specdec_core.models.protocol import ModelInfo, ModelUnavailable

if TYPE_CHECKING:
    import torch

# A forward pass over a handful of tokens has too little work for more threads than this.
MOST_THREADS = 8


# --- device and dtype ------------------------------------------------------------------------------------------------


def choose_device(device: str | None = None) -> str:
    """The device to compute on: ``device``, else ``$SPECDEC_DEVICE``, else CUDA, then Apple MPS, then the CPU.

    Raises ModelUnavailable when the one that was asked for is not there.
    """
    import torch

    asked = device or os.environ.get("SPECDEC_DEVICE") or ""
    if not asked:
        return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        known = torch.device(asked)
    except RuntimeError:
        raise ModelUnavailable(f"device must be cpu, cuda, cuda:N or mps, not {asked[:40]!r}.") from None
    there: dict[str, Callable[[], bool]] = {
        "cpu": lambda: True,
        "cuda": lambda: torch.cuda.is_available() and (known.index or 0) < torch.cuda.device_count(),
        "mps": torch.backends.mps.is_available,
    }
    if known.type not in there:
        raise ModelUnavailable(f"device must be cpu, cuda, cuda:N or mps, not {asked[:40]!r}.")
    if not there[known.type]():
        raise ModelUnavailable(f"The device {asked} is not available on this machine.")
    return str(known)


def choose_dtype(device: str, dtype: str | None = None) -> "torch.dtype":
    """The number format of weights on ``device``: ``dtype``, else ``$SPECDEC_DTYPE``, else by device.

    CUDA: bfloat16. CPU: float32. Half the bytes to read would save half of the time only where the processor computes
    in bfloat16 itself; where it does not, torch's kernels for a handful of tokens take longer in bfloat16 (see
    benchmarks/README.md). MPS: float32, because bfloat16 needs a recent system there, float16 overflows in some models,
    and the models here are small. Raises ModelUnavailable for an unknown name.
    """
    import torch

    known = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}
    asked = dtype or os.environ.get("SPECDEC_DTYPE") or ""
    if asked:
        if asked not in known:
            raise ModelUnavailable(f"dtype must be one of {', '.join(known)}, not {asked[:40]!r}.")
        return known[asked]
    if device.startswith("cuda") or (device == "cpu" and _computes_bfloat16()):
        return torch.bfloat16
    return torch.float32


def _computes_bfloat16() -> bool:
    """Whether the processor has matrix instructions for bfloat16 (AMX)."""
    import torch

    try:
        return bool(torch.cpu._is_amx_tile_supported())
    except AttributeError:
        return False


def free_memory(device: str) -> int | None:
    """Bytes that a new model may take on ``device``; None where the system does not say."""
    import torch

    if device.startswith("cuda"):
        return int(torch.cuda.mem_get_info(torch.device(device))[0])
    return weights.available_memory()


def use_threads() -> None:
    """One thread per core, at most ``MOST_THREADS``; ``$OMP_NUM_THREADS`` goes before."""
    import torch

    if "OMP_NUM_THREADS" not in os.environ and torch.get_num_threads() > MOST_THREADS:
        torch.set_num_threads(MOST_THREADS)


# --- model and session -----------------------------------------------------------------------------------------------


class HuggingFaceModel:
    """A transformers causal LM that any number of sessions share. One lock guards the pass.

    known_ids: the ids that the tokenizer has. Vocabularies are padded: whatever a model says of other ids is discarded.
    """

    def __init__(self, module: Any, name: str, known_ids: Iterable[int]) -> None:
        self.module = module.eval()
        self.lock = threading.Lock()
        self._known = np.zeros(max(known_ids, default=-1) + 1, dtype=bool)
        self._known[list(known_ids)] = True
        self._all_known = bool(self._known.all())
        config = module.config
        self._context = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
        known = inspect.signature(module.forward).parameters
        self._keeps = "logits_to_keep" in known
        self._cache_name = "cache" if "cache" in known else "past_key_values"  # older architectures use the old name
        self._info = ModelInfo(
            name,
            device=str(module.device),
            dtype=str(module.dtype).removeprefix("torch."),
            parameters=sum(p.numel() for p in module.parameters()),
            layers=getattr(config, "num_hidden_layers", None),
        )

    @property
    def info(self) -> ModelInfo:
        return self._info

    @property
    def vocabulary_size(self) -> int:
        return self._known.size

    @property
    def context_length(self) -> int | None:
        return self._context

    def start(self) -> "HuggingFaceSession":
        return HuggingFaceSession(self)

    def forward(self, tokens: Sequence[int], cache: Any, last: int) -> NDArray[np.float32]:
        """One pass over ``tokens``, which extends ``cache``; logits after the ``last`` final ones, ``(last, V)``."""
        import torch

        more = {self._cache_name: cache} | ({"logits_to_keep": last} if self._keeps else {})
        with self.lock, torch.inference_mode():
            ids = torch.tensor([list(tokens)], dtype=torch.long, device=self.module.device)
            out = self.module(input_ids=ids, use_cache=True, **more)
            rows = out.logits[0, -last:].float().cpu().numpy()
        return self._fit(rows)

    def _fit(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """As wide as the tokenizer, with ``-inf`` for ids that it lacks: the one place where padding is dealt with."""
        width = self.vocabulary_size
        if rows.shape[1] < width:
            rows = np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=-np.inf)
        rows = np.array(rows[:, :width])
        if not self._all_known:
            rows[:, ~self._known] = -np.inf
        return rows


class HuggingFaceSession:
    """One text in the making, with its own key/value cache. Raises ValueError when that would exceed the context."""

    def __init__(self, model: HuggingFaceModel) -> None:
        self._model = model
        self._cache: Any = None
        self._length = 0

    @property
    def length(self) -> int:
        return self._length

    def extend(self, tokens: Sequence[int], last: int = 1) -> NDArray[np.floating]:
        from transformers import DynamicCache

        limit = self._model.context_length
        if limit is not None and self._length + len(tokens) > limit:
            raise ValueError(f"{self._length + len(tokens)} tokens do not fit into a context of {limit}.")
        if not 1 <= last <= len(tokens):
            raise ValueError(f"the last {last} of {len(tokens)} new tokens cannot be scored.")
        if self._cache is None:
            # Without a config every layer keeps all it has seen, and so can always be rolled back.
            self._cache = DynamicCache()
        logits = self._model.forward(tokens, self._cache, last)
        self._length += len(tokens)
        return logits

    def rollback(self, length: int) -> None:
        if not 0 <= length <= self._length:
            raise ValueError(f"cannot roll back to {length} of {self._length} tokens.")
        if length == 0:
            self._cache = None
        elif length < self._length:
            self._cache.crop(length - self._length)
        self._length = length


# --- tokenizer -------------------------------------------------------------------------------------------------------


class HuggingFaceTokenizer:
    """A ``tokenizers.Tokenizer`` behind the protocol. Stateless but for the texts of tokens already asked for."""

    def __init__(self, backend: Any, end_ids: Iterable[int]) -> None:
        self._backend = backend
        self._end_ids = frozenset(end_ids)
        self._special = set(backend.get_added_tokens_decoder())
        self._byte_level = "ByteLevel" in str(backend.decoder)
        self._texts: dict[int, str] = {}

    @property
    def end_ids(self) -> frozenset[int]:
        return self._end_ids

    def vocabulary(self) -> dict[str, int]:
        """Every token and its id."""
        return dict(self._backend.get_vocab(with_added_tokens=True))

    def encode(self, text: str) -> list[int]:
        """The ids of ``text``, after what the tokenizer itself puts in front. Raises ValueError for broken Unicode."""
        if has_surrogate(text):
            raise ValueError("the text is not valid Unicode.")
        return list(self._backend.encode(text).ids)

    def decode(self, ids: Sequence[int]) -> str:
        return str(self._backend.decode(list(ids), skip_special_tokens=False))

    def token_text(self, token: int) -> str:
        text = self._texts.get(token)
        if text is None:
            text = self._texts[token] = self._text(token)
        return text

    def _text(self, token: int) -> str:
        raw = self._backend.id_to_token(token)
        if raw is None:
            return f"<{token}>"
        if token in self._special:
            return str(raw)
        if self._byte_level:
            return _readable(bytes(_BYTES[c] for c in raw)) if all(c in _BYTES for c in raw) else str(raw)
        if len(raw) == 6 and raw.startswith("<0x") and raw.endswith(">"):
            return _readable(bytes([int(raw[3:5], 16)]))
        return str(raw).replace("\u2581", " ")


def _readable(data: bytes) -> str:
    """``data`` as text; bytes that are no character of their own appear as ``<0xE2>``."""
    out, start = [], 0
    while start < len(data):
        try:
            out.append(data[start:].decode("utf-8"))
            break
        except UnicodeDecodeError as error:
            bad = start + error.start
            out.append(data[start:bad].decode("utf-8"))
            end = start + error.end
            out.append("".join(f"<0x{b:02X}>" for b in data[bad:end]))
            start = end
    return "".join(out)


def _byte_characters() -> dict[str, int]:
    """GPT-2's table: the printable character that stands for each byte in a byte-level vocabulary."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table = {chr(b): b for b in printable}
    rest = [b for b in range(256) if b not in printable]
    return table | {chr(256 + n): b for n, b in enumerate(rest)}


_BYTES = _byte_characters()


# --- load ------------------------------------------------------------------------------------------------------------


def load_tokenizer(folder: Path, name: str) -> HuggingFaceTokenizer:
    """The tokenizer of a model's folder. Its end-of-text tokens: those of tokenizer and generation_config, no others.

    Raises ModelUnavailable.
    """
    from transformers import AutoTokenizer, GenerationConfig

    try:
        tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
        ends = {tokenizer.eos_token_id}
        if (folder / "generation_config.json").is_file():
            found = GenerationConfig.from_pretrained(str(folder)).eos_token_id
            ends |= set(found) if isinstance(found, list) else {found}
    except Exception as error:  # anything may be in the file; no caller could tell the kinds apart
        raise ModelUnavailable(f"The tokenizer of {name} cannot be loaded: {first_line(error)}") from error
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ModelUnavailable(f"{name} has no fast tokenizer.")
    return HuggingFaceTokenizer(backend, {i for i in ends if isinstance(i, int)})


def plain_tokenizer(folder: Path, name: str) -> HuggingFaceTokenizer:
    """As ``load_tokenizer`` for a folder that we wrote ourselves, without waiting for transformers to load."""
    from tokenizers import Tokenizer

    try:
        backend = Tokenizer.from_file(str(folder / weights.TOKENIZER))
        end = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))["eos_token"]
    except Exception as error:  # the tokenizers library raises plain Exception
        raise ModelUnavailable(f"The tokenizer of {name} cannot be loaded: {first_line(error)}") from error
    token = backend.token_to_id(end)
    return HuggingFaceTokenizer(backend, () if token is None else (token,))


def load_model(
    folder: Path, name: str, tokenizer: HuggingFaceTokenizer, device: str, dtype: "torch.dtype"
) -> HuggingFaceModel:
    """The model in ``folder`` on ``device``. Raises ModelUnavailable: not whole, too big, or not to be loaded."""
    from transformers import AutoModelForCausalLM

    contents = weights.inspect(folder, name)
    weights.check_memory(name, contents.elements, dtype.itemsize, free_memory(device))
    use_threads()
    try:
        with quiet():
            loaded: Any = AutoModelForCausalLM.from_pretrained(
                str(folder),
                dtype=dtype,
                local_files_only=True,
                use_safetensors=True,
                trust_remote_code=False,
                ignore_mismatched_sizes=True,  # they come back in the report
                output_loading_info=True,
            )
        module, report = loaded
        # A weight that is in no file would be filled with random numbers, and the text would look like a bad model's.
        missing = sorted(report.get("missing_keys") or ()) + sorted(x[0] for x in report.get("mismatched_keys") or ())
        module = module.to(device)
    except Exception as error:
        raise ModelUnavailable(f"{name} cannot be loaded: {first_line(error)}") from error
    if missing:
        raise ModelUnavailable(
            f"{name} is not whole: its files lack the weight {missing[0]}, or have it in another size."
        )
    return HuggingFaceModel(module, name, tokenizer.vocabulary().values())


@contextmanager
def quiet() -> Iterator[None]:
    """transformers without progress bars and hints, which belong to nobody who looks at a page or a log."""
    from transformers.utils import logging

    shown, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if shown:
            logging.enable_progress_bar()


def first_line(error: BaseException | str) -> str:
    """The first line of what went wrong, short, and a sentence."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    text = lines[0].strip()
    text = text if len(text) <= 200 else text[:197] + "..."
    return text if text.endswith((".", "!", "?")) else text + "."
