"""Which pairs of draft and target there are, whether they are ready, and how to get one.

Visitors choose among registered pairs only. Other hub names and paths are opened when the person who runs the server
has set ``SPECDEC_ALLOW_MODELS=1``; a pair is then named ``draft::target``. ``SPECDEC_MODELS`` may name a folder whose
subfolders hold a ``draft`` and a ``target`` each: those are registered as ``local:NAME``.

Does not know: decoding, the screen. Importing it, and ``describe()``, load neither torch nor transformers.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specdec_core.models import embedded, huggingface, llama_files, weights
from specdec_core.models.protocol import ModelUnavailable, Pair
from specdec_core.models.toy import toy_pair

ALLOW, FOLDER = "SPECDEC_ALLOW_MODELS", "SPECDEC_MODELS"
SEPARATOR = "::"
#: What is fetched of a hub repository: configuration, tokenizer and safetensors; never code or pickled weights.
WANTED = ["*.json", "*.safetensors"]
_SKIPPED = ["*/*"]  # subfolders hold exports to other formats
_NAME_LIMIT = 300

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Published:
    """A pair whose models lie on the Hugging Face hub, in repositories that are named here."""

    title: str
    draft: str
    target: str


PUBLISHED: dict[str, Published] = {
    "gpt2": Published("DistilGPT-2 drafts for GPT-2", "distilbert/distilgpt2", "openai-community/gpt2"),
    "smollm2": Published(
        "SmolLM2 135M drafts for SmolLM2 360M", "HuggingFaceTB/SmolLM2-135M", "HuggingFaceTB/SmolLM2-360M"
    ),
    "qwen2.5": Published("Qwen2.5 0.5B drafts for Qwen2.5 1.5B", "Qwen/Qwen2.5-0.5B", "Qwen/Qwen2.5-1.5B"),
}


@dataclass(frozen=True)
class PairInfo:
    """What can be said of a pair without loading it.

    ready: both models lie on this machine, as far as names and sizes tell. problem: why not, one sentence, else None.
    needs_network: whether loading it would fetch something.
    """

    name: str
    title: str
    draft: str
    target: str
    ready: bool
    problem: str | None = None
    needs_network: bool = False


def describe() -> list[PairInfo]:
    """All registered pairs, the embedded one first. Cheap enough to ask on every run of a page."""
    return [_embedded_info(), *(_published_info(name) for name in PUBLISHED), *map(_local_info, _local()), _TOY]


_TOY = PairInfo("toy", "Toy tables over eight words", "toy draft", "toy target", ready=True)


def _embedded_info() -> PairInfo:
    problem = embedded.target_problem() or embedded.draft_problem()
    title = "SmolLM2 135M Instruct and a draft distilled from it"
    return PairInfo("embedded", title, DRAFT_NAME, TARGET_NAME, problem is None, problem)


def _published_info(name: str) -> PairInfo:
    pair = PUBLISHED[name]
    missing = [x for x in (pair.draft, pair.target) if _cached(x) is None]
    problem = None
    if missing:
        problem = f"{' and '.join(missing)} will be downloaded from the Hugging Face hub when first used."
    return PairInfo(name, pair.title, pair.draft, pair.target, not missing, problem, bool(missing))


def _local() -> dict[str, Path]:
    folder = os.environ.get(FOLDER)
    if not folder:
        return {}
    try:
        found = sorted(x for x in Path(folder).iterdir() if (x / "draft").is_dir() and (x / "target").is_dir())
    except OSError:
        return {}
    return {f"local:{x.name}": x for x in found}


def _local_info(name: str) -> PairInfo:
    folder = _local()[name]
    try:
        for part in ("draft", "target"):
            weights.inspect(folder / part, part)
    except ModelUnavailable as error:
        return PairInfo(name, folder.name, "draft", "target", ready=False, problem=str(error))
    return PairInfo(name, folder.name, "draft", "target", ready=True)


def allowed() -> bool:
    """Whether the person who runs the server lets other models be opened than the registered ones."""
    return os.environ.get(ALLOW, "") == "1"


def load_pair(
    name: str = "embedded", device: str | None = None, dtype: str | None = None, progress: Progress = lambda _: None
) -> Pair:
    """The pair called ``name``, loaded: seconds for the embedded one. Nothing is cached here; keep what you get.

    device, dtype: as text ("cpu", "cuda:1"; "float32", "bfloat16"), by default chosen for the machine.
    Raises ModelUnavailable, one sentence: unknown, not installed, half downloaded, too big, tokenizers that differ.
    """
    if name == "toy":
        return toy_pair()
    if name == "embedded":
        return _load_embedded(device, dtype)
    if name in PUBLISHED:
        pair = PUBLISHED[name]
        return _load_folders(
            name, pair.draft, pair.target, _fetch(pair.draft, progress), _fetch(pair.target, progress), device, dtype
        )
    local = _local()
    if name in local:
        return _load_folders(name, "draft", "target", local[name] / "draft", local[name] / "target", device, dtype)
    draft, target = _unregistered(name)
    return _load_folders(name, draft, target, _open(draft, progress), _open(target, progress), device, dtype)


def _unregistered(name: str) -> tuple[str, str]:
    draft, found, target = name.partition(SEPARATOR)
    shown = repr(name if len(name) <= 80 else name[:77] + "...")
    if not found:
        known = ", ".join(x.name for x in describe())
        raise ModelUnavailable(f"pair must be one of {known}, not {shown}.")
    if not allowed():
        raise ModelUnavailable(f"pair {shown} is not registered; whoever runs this can allow others with {ALLOW}=1.")
    if not draft or not target or len(name) > _NAME_LIMIT or "\0" in name:
        raise ModelUnavailable(f"pair must have the form draft{SEPARATOR}target, not {shown}.")
    return draft, target


# --- the embedded pair -----------------------------------------------------------------------------------------------

TARGET_NAME = "SmolLM2-135M-Instruct"
DRAFT_NAME = "draft distilled from SmolLM2-135M-Instruct"


def _load_embedded(device: str | None, dtype: str | None) -> Pair:
    problem = embedded.target_problem() or embedded.draft_problem()
    if problem:
        raise ModelUnavailable(problem)
    where = huggingface.choose_device(device)
    kind = huggingface.choose_dtype(where, dtype)
    huggingface.use_threads()
    folder = embedded.target_dir()
    held = weights.inspect(folder, TARGET_NAME)
    weights.check_memory(TARGET_NAME, held.elements, kind.itemsize, huggingface.free_memory(where))
    target = llama_files.load_target(folder, TARGET_NAME, kind, where)
    draft = llama_files.load_draft(embedded.draft_dir(), DRAFT_NAME, embedded.load_draft_tensors(), target, kind, where)
    return Pair("embedded", draft, target, huggingface.plain_tokenizer(folder, TARGET_NAME))


# --- pairs of transformers models ------------------------------------------------------------------------------------


def _load_folders(
    name: str, draft: str, target: str, draft_folder: Path, target_folder: Path, device: str | None, dtype: str | None
) -> Pair:
    """Both models from folders, after everything that can be found wrong without loading them has been looked for."""
    where = huggingface.choose_device(device)
    kind = huggingface.choose_dtype(where, dtype)
    sizes = [weights.inspect(f, n).elements for f, n in ((draft_folder, draft), (target_folder, target))]
    weights.check_memory(f"The pair {draft} and {target}", sum(sizes), kind.itemsize, huggingface.free_memory(where))
    tokenizer = huggingface.load_tokenizer(target_folder, target)
    other = huggingface.load_tokenizer(draft_folder, draft)
    difference = weights.first_difference(other.vocabulary(), tokenizer.vocabulary())
    if difference:
        raise ModelUnavailable(f"{draft} and {target} cannot work together: {difference}.")
    models = [
        huggingface.load_model(folder, label, tokenizer, where, kind)
        for folder, label in ((draft_folder, draft), (target_folder, target))
    ]
    return Pair(name, models[0], models[1], tokenizer)


def _open(source: str, progress: Progress) -> Path:
    """A path if there is one of that name, else a hub repository."""
    folder = Path(source).expanduser()
    return folder if folder.exists() else _fetch(source, progress)


def _cached(repository: str) -> Path | None:
    """The repository's folder in the hub's cache on this machine, when config and weights are there."""
    from huggingface_hub import try_to_load_from_cache

    config = try_to_load_from_cache(repository, weights.CONFIG)
    if not isinstance(config, str):
        return None
    folder = Path(config).parent
    return folder if (folder / weights.SINGLE).is_file() or (folder / weights.INDEX).is_file() else None


def _fetch(repository: str, progress: Progress) -> Path:
    """The repository's folder, downloaded unless it is there already. Raises ModelUnavailable."""
    cached = _cached_whole(repository)
    if cached is not None:
        return cached
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.utils import disable_progress_bars

    disable_progress_bars()
    try:
        info = HfApi().model_info(repository, files_metadata=True, timeout=10)
        _check_room(repository, info)
        progress(f"Downloading {repository} ...")
        folder = snapshot_download(repository, allow_patterns=WANTED, ignore_patterns=_SKIPPED, revision=info.sha)
    except ModelUnavailable:
        raise
    except Exception as error:  # the library's own errors, those of its HTTP client, of the disk
        kept = _cached(repository)
        if kept is not None:
            return kept  # looked at again before it is opened, so that what is missing gets named
        raise ModelUnavailable(
            f"{repository} could not be fetched from the Hugging Face hub (is there a network?):"
            f" {huggingface.first_line(error)}"
        ) from error
    return Path(folder)


def _cached_whole(repository: str) -> Path | None:
    folder = _cached(repository)
    try:
        if folder is not None:
            weights.inspect(folder, repository)
    except ModelUnavailable:
        return None
    return folder


def _check_room(repository: str, info: Any) -> None:
    """Before gigabytes are fetched: would the weights, two bytes a number, fit into memory at all?"""
    found = [
        f.size or 0 for f in info.siblings or () if f.rfilename.endswith(".safetensors") and "/" not in f.rfilename
    ]
    if not found:
        raise ModelUnavailable(f"{repository} has no {weights.SINGLE}; weights in other formats are never opened.")
    weights.check_memory(repository, sum(found), 1, weights.available_memory())
