"""Pairs: what is offered, what is refused and in which words, on tiny models broken in every way we know of."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from specdec_core.decoding import decode
from specdec_core.models import pairs, weights
from specdec_core.models.pairs import ALLOW, FOLDER, describe, load_pair
from specdec_core.models.protocol import ModelUnavailable
from specdec_core.models.weights import Contents, check_memory, first_difference, inspect
from specdec_core.trace import Settings
from tests.conftest_models import DEVICE
from tests.tiny_models import byte_tokenizer, save_model, save_tokenizer

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a pair that fits together; the target in several files."""
    folder = tmp_path_factory.mktemp("pairs") / "tiny"
    save_model(folder / "draft", seed=1)
    save_model(folder / "target", seed=2, shards=True)
    return folder


@pytest.fixture
def local(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it that may be broken, registered as ``local:tiny``."""
    shutil.copytree(whole, tmp_path / "tiny")
    monkeypatch.setenv(FOLDER, str(tmp_path))
    return tmp_path / "tiny"


def refused(name: str = "local:tiny", **options: Any) -> str:
    with pytest.raises(ModelUnavailable) as error:
        load_pair(name, DEVICE, "float32", **options)
    text = str(error.value)
    assert "\n" not in text and text.endswith(".") and len(text) < 500
    return text


# --- what is offered -------------------------------------------------------------------------------------------------


def test_the_registered_pairs() -> None:
    found = {x.name: x for x in describe()}
    assert next(iter(found)) == "embedded" and {"gpt2", "smollm2", "qwen2.5", "toy"} <= set(found)
    assert found["toy"].ready and found["toy"].problem is None
    for pair in found.values():
        assert pair.title and pair.draft and pair.target
        assert pair.ready == (pair.problem is None)


def test_a_local_folder_is_offered_loaded_and_decodes(local: Path) -> None:
    info = next(x for x in describe() if x.name == "local:tiny")
    assert info.ready and not info.needs_network
    pair = load_pair("local:tiny", DEVICE, "float32")
    blocks = list(decode(pair, Settings("the cat", pair="local:tiny", max_new_tokens=8), end_ids=frozenset()))
    assert sum(len(b.emitted) for b in blocks) == 8


def test_a_broken_local_folder_says_so_before_it_is_loaded(local: Path) -> None:
    (local / "draft" / "model.safetensors").unlink()
    info = next(x for x in describe() if x.name == "local:tiny")
    assert not info.ready and info.problem == refused()


def test_no_folder_no_local_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, "/no/such/folder")
    assert not [x for x in describe() if x.name.startswith("local:")]


# --- what visitors may not do ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "nope", "local:nope", "x" * 10_000, "a\nb", "../../etc", "http://example.org/m"])
def test_an_unknown_pair_is_refused(name: str) -> None:
    assert "pair must be one of embedded, gpt2" in refused(name)


def test_other_models_are_opened_only_where_that_is_switched_on(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"{whole / 'draft'}::{whole / 'target'}"
    for value in (None, "", "0", "yes"):
        monkeypatch.delenv(ALLOW, raising=False) if value is None else monkeypatch.setenv(ALLOW, value)
        assert ALLOW in refused(name)
    monkeypatch.setenv(ALLOW, "1")
    assert load_pair(name, DEVICE, "float32").name == name
    assert "form draft::target" in refused("::x")
    assert "form draft::target" in refused("a\0::x")
    monkeypatch.setattr(pairs, "_fetch", lambda repository, progress: pytest.fail(f"asked the hub for {repository}"))
    assert "not a folder" in refused(f"{whole / 'draft' / 'config.json'}::{whole / 'target'}")


def test_without_a_network_a_published_pair_is_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from huggingface_hub import HfApi

    def fail(*_: Any, **__: Any) -> Any:
        raise OSError("Name or service not known\nand more")

    monkeypatch.setattr(HfApi, "model_info", fail)
    monkeypatch.setattr(pairs, "_cached", lambda repository: None)
    text = refused("gpt2")
    assert "distilbert/distilgpt2 could not be fetched" in text and "network" in text and "and more" not in text


def test_what_would_not_fit_is_not_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub
    from huggingface_hub import HfApi

    class File:
        rfilename, size = "model.safetensors", 10**15

    class Info:
        siblings, sha = [File()], "0" * 40

    monkeypatch.setattr(HfApi, "model_info", lambda *_, **__: Info())
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: pytest.fail("downloaded"))
    monkeypatch.setattr(pairs, "_cached", lambda repository: None)
    assert "too big" in refused("gpt2")
    File.rfilename = "pytorch_model.bin"
    assert "never opened" in refused("gpt2")


# --- what is broken --------------------------------------------------------------------------------------------------


def shorten(path: Path, by: int = 100) -> None:
    path.write_bytes(path.read_bytes()[:-by])


def edit(path: Path, **changes: Any) -> None:
    data = json.loads(path.read_text(encoding="utf-8")) | changes
    path.write_text(json.dumps({k: v for k, v in data.items() if v is not None}), encoding="utf-8")


def first_shard(folder: Path) -> Path:
    return sorted((folder / "target").glob("model-*.safetensors"))[0]


BROKEN: dict[str, tuple[Any, list[str]]] = {
    "no folder": (lambda f: shutil.rmtree(f / "draft"), ["pair must be one of"]),
    "no config": (lambda f: (f / "draft/config.json").unlink(), ["draft has no config.json"]),
    "odd config": (lambda f: (f / "draft/config.json").write_text("{"), ["config.json cannot be read"]),
    "a list": (lambda f: (f / "draft/config.json").write_text("[]"), ["config.json cannot be read"]),
    "encoder": (lambda f: edit(f / "draft/config.json", architectures=["BertModel"]), ["BertModel", "next token"]),
    "no name": (lambda f: edit(f / "draft/config.json", architectures=None), ["next token"]),
    "unknown": (lambda f: edit(f / "draft/config.json", model_type="martian"), ["draft cannot be loaded", "martian"]),
    "sizes": (lambda f: edit(f / "draft/config.json", hidden_size=48), ["draft is not whole"]),
    "more layers": (lambda f: edit(f / "draft/config.json", num_hidden_layers=3), ["draft is not whole", "layers.2"]),
    "no tokenizer": (lambda f: (f / "draft/tokenizer.json").unlink(), ["tokenizer.json"]),
    "odd tokenizer": (lambda f: (f / "draft/tokenizer.json").write_text("{}"), ["tokenizer of draft cannot be loaded"]),
    "pickle": (lambda f: (f / "draft/model.safetensors").rename(f / "draft/pytorch_model.bin"), ["never opened"]),
    "truncated": (lambda f: shorten(f / "draft/model.safetensors"), ["half downloaded", "model.safetensors"]),
    "empty": (lambda f: (f / "draft/model.safetensors").write_bytes(b""), ["not a whole safetensors file"]),
    "not safetensors": (lambda f: (f / "draft/model.safetensors").write_bytes(b"PK" * 99), ["not a whole safetensors"]),
    "pointer": (
        lambda f: (f / "draft/model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\n"),
        ["not a whole safetensors file"],
    ),
    "missing shard": (lambda f: first_shard(f).unlink(), ["target is only half downloaded", "model-00001"]),
    "short shard": (lambda f: shorten(first_shard(f)), ["target is only half downloaded", "model-00001"]),
    "no shards": (lambda f: edit(f / "target/model.safetensors.index.json", weight_map={}), ["names no files"]),
    "outside": (
        lambda f: edit(f / "target/model.safetensors.index.json", weight_map={"a": "../../x.safetensors"}),
        ["target is refused", "not at a file beside it"],
    ),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_model_is_one_sentence(local: Path, how: str) -> None:
    spoil, words = BROKEN[how]
    spoil(local)
    text = refused()
    for word in words:
        assert word in text


def test_remote_code_is_never_run(local: Path) -> None:
    ran = local / "ran"
    (local / "draft" / "evil.py").write_text(f"open({str(ran)!r}, 'w').close()\nclass Evil: pass\n")
    auto = {"AutoConfig": "evil.Evil", "AutoModelForCausalLM": "evil.Evil", "AutoTokenizer": ["evil.Evil", None]}
    edit(local / "draft" / "config.json", model_type="evil", auto_map=auto)
    refused()
    assert not ran.exists()


def test_a_model_that_does_not_fit_into_memory(local: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "available_memory", lambda: 1000)
    assert "too big" in refused()


def test_the_memory_check() -> None:
    check_memory("m", 10**9, 4, None)
    check_memory("m", 10**9, 4, 5 * 10**9)
    with pytest.raises(ModelUnavailable, match=r"m is too big: it needs about 4\.6 GB of memory and 4\.5 GB are free"):
        check_memory("m", 10**9, 4, 4_500_000_000)
    assert (weights.available_memory() or 1) > 0


def test_what_the_files_hold(whole: Path) -> None:
    one, many = inspect(whole / "draft", "draft"), inspect(whole / "target", "target")
    assert isinstance(one, Contents) and one.elements == many.elements > 0
    assert many.stored_bytes > one.stored_bytes > 4 * one.elements


# --- tokenizers ------------------------------------------------------------------------------------------------------


def test_tokenizers_of_one_size_with_other_tokens(local: Path) -> None:
    save_tokenizer(byte_tokenizer(extra=("Ġthe", "Ġc", "Ġcar")), local / "draft")
    text = refused()
    assert "draft and target cannot work together" in text and "'Ġcar' in the draft and 'Ġcat' in the target" in text


def test_tokenizers_of_other_sizes(local: Path) -> None:
    save_tokenizer(byte_tokenizer(extra=("Ġthe", "Ġc")), local / "target")
    assert "cannot work together" in refused()


def test_the_first_difference() -> None:
    assert first_difference({"a": 0, "b": 1}, {"b": 1, "a": 0}) is None
    assert first_difference({"a": 0, "b": 1}, {"a": 0, "c": 1}) == "token 1 is 'b' in the draft and 'c' in the target"
    assert first_difference({"a": 0}, {"a": 0, "b": 1}) == "token 1 is missing in the draft and 'b' in the target"
    assert first_difference({"a": 0, "b": 1}, {"a": 1, "b": 0}) == "token 0 is 'a' in the draft and 'b' in the target"
    # Two names for one id: the last one shows, the other differs.
    assert "has id 0 in the draft and None in the target" in (first_difference({"a": 0, "b": 0}, {"b": 0}) or "")
