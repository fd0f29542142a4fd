"""transformers models behind the protocol, on tiny random ones: logits, rollback, padding, tokens, device and dtype."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from specdec_core.decoding import decode, plain
from specdec_core.models import huggingface
from specdec_core.models.huggingface import HuggingFaceModel, HuggingFaceTokenizer, choose_device, choose_dtype
from specdec_core.models.protocol import LanguageModel, ModelUnavailable, Pair, Session, Tokenizer
from specdec_core.trace import Settings
from tests.conftest_models import DEVICE
from tests.tiny_models import END, add_generation_config, byte_tokenizer, save_model

torch = pytest.importorskip("torch")

#: Cached and uncached passes add the same float32 numbers in different orders: some 1e-6 of logits of size 10.
TOLERANCE = 1e-4


@pytest.fixture(scope="module", params=["llama", "gpt2"])
def loaded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[HuggingFaceModel, Any]:
    folder = tmp_path_factory.mktemp(request.param)
    module = save_model(folder, kind=request.param, pad_to=byte_tokenizer().get_vocab_size())
    tokenizer = huggingface.load_tokenizer(folder, "tiny")
    return huggingface.load_model(folder, "tiny", tokenizer, DEVICE, torch.float32), module


def logits_of(module: Any, tokens: list[int]) -> np.ndarray:
    with torch.inference_mode():
        return module(torch.tensor([tokens])).logits[0].float().numpy()


def test_it_is_what_decoding_asks_for(loaded: tuple[HuggingFaceModel, Any]) -> None:
    model, _ = loaded
    assert isinstance(model, LanguageModel) and isinstance(model.start(), Session)
    assert isinstance(HuggingFaceTokenizer(byte_tokenizer(), ()), Tokenizer)
    assert model.context_length == 64
    assert model.info.device.startswith(DEVICE) and model.info.dtype == "float32" and model.info.layers == 2


def test_cached_logits_are_those_of_one_pass(loaded: tuple[HuggingFaceModel, Any]) -> None:
    model, module = loaded
    tokens = np.random.default_rng(1).integers(0, model.vocabulary_size, 20).tolist()
    expected = logits_of(module, tokens)[:, : model.vocabulary_size]
    session = model.start()
    rows = [session.extend(tokens[:7], last=3), session.extend(tokens[7:8]), session.extend(tokens[8:], last=12)]
    assert [row.shape for row in rows] == [(n, model.vocabulary_size) for n in (3, 1, 12)]
    assert np.concatenate(rows) == pytest.approx(expected[4:], abs=TOLERANCE)
    assert rows[0].dtype == np.float32 and session.length == 20


@pytest.mark.parametrize("back_to", [0, 1, 5, 11, 12])
def test_after_a_rollback_nothing_is_left_of_what_was_taken_back(
    loaded: tuple[HuggingFaceModel, Any], back_to: int
) -> None:
    model, module = loaded
    rng = np.random.default_rng(2)
    first, second = (rng.integers(0, model.vocabulary_size, n).tolist() for n in (12, 4))
    session = model.start()
    session.extend(first)
    session.rollback(back_to)
    assert session.length == back_to
    found = session.extend(second, last=4)
    expected = logits_of(module, first[:back_to] + second)[-4:, : model.vocabulary_size]
    assert found == pytest.approx(expected, abs=TOLERANCE)


def test_padded_columns_cannot_be_drawn(tmp_path: Path) -> None:
    """The model's 320 columns against the tokenizer's fewer tokens; a model that is too narrow is filled up."""
    save_model(tmp_path, pad_to=320)
    tokenizer = huggingface.load_tokenizer(tmp_path, "tiny")
    size = len(tokenizer.vocabulary())
    model = huggingface.load_model(tmp_path, "tiny", tokenizer, DEVICE, torch.float32)
    assert model.vocabulary_size == size < 320
    assert np.isfinite(model.start().extend([1, 2])).all()
    holes = HuggingFaceModel(model.module, "holes", [0, 1, 5, 400])
    row = holes.start().extend([1, 2])[0]
    assert row.size == 401 and np.flatnonzero(np.isfinite(row)).tolist() == [0, 1, 5]


def test_misuse_is_a_sentence(loaded: tuple[HuggingFaceModel, Any]) -> None:
    session = loaded[0].start()
    with pytest.raises(ValueError, match="65 tokens do not fit into a context of 64"):
        session.extend([1] * 65)
    with pytest.raises(ValueError, match="last 3 of 2"):
        session.extend([1, 2], last=3)
    with pytest.raises(ValueError, match="roll back to 1 of 0"):
        session.rollback(1)


def pair_of(model: HuggingFaceModel, draft: HuggingFaceModel | None = None) -> Pair:
    return Pair("tiny", draft or model, model, HuggingFaceTokenizer(byte_tokenizer(), ()))


def test_greedy_text_is_that_of_transformers(loaded: tuple[HuggingFaceModel, Any]) -> None:
    model, module = loaded
    pair = pair_of(model)
    prompt = pair.tokenizer.encode("the cat")
    with torch.inference_mode():
        expected = module.generate(torch.tensor([prompt]), do_sample=False, max_new_tokens=20, eos_token_id=None)
    for tau in (1, 3, 8):
        asked = Settings("the cat", tau=tau, max_new_tokens=20, temperature=0.0)
        found = [t.id for b in decode(pair, asked, end_ids=frozenset()) for t in b.emitted]
        assert found == expected[0, len(prompt) :].tolist()


def test_threads_that_share_a_model(loaded: tuple[HuggingFaceModel, Any]) -> None:
    pair = pair_of(loaded[0])
    asked = [Settings("the cat", seed=seed, max_new_tokens=15) for seed in range(4)]
    alone = [list(plain(pair, x, end_ids=frozenset())) for x in asked]
    found: dict[int, list[int]] = {}
    threads = [
        threading.Thread(target=lambda i=i: found.update({i: list(plain(pair, asked[i], end_ids=frozenset()))}))
        for i in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[i] for i in range(4)] == alone


# --- tokenizer -------------------------------------------------------------------------------------------------------


def test_token_texts_are_literal() -> None:
    tokenizer = HuggingFaceTokenizer(byte_tokenizer(extra=("Ġthe", "Ġâ", "âĤ")), ())
    ids = tokenizer.vocabulary()
    assert tokenizer.token_text(ids["Ġthe"]) == " the"
    assert tokenizer.token_text(ids["â"]) == "<0xE2>"
    assert tokenizer.token_text(ids["Ġâ"]) == " <0xE2>"
    assert tokenizer.token_text(ids["âĤ"]) == "<0xE2><0x82>"
    assert tokenizer.token_text(ids["Ċ"]) == "\n"
    assert tokenizer.token_text(ids[END]) == END
    assert tokenizer.token_text(10**6) == "<1000000>"


@pytest.mark.parametrize(
    "text", ["the cat", " two  blanks ", "€5 … naïve 名前 👩‍🚀", "\t\n\r", "<b>$x$</b> :sun: `a`", ""]
)
def test_texts_survive_the_tokenizer(text: str) -> None:
    tokenizer = HuggingFaceTokenizer(byte_tokenizer(), ())
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_a_character_in_pieces_is_decoded_whole() -> None:
    tokenizer = HuggingFaceTokenizer(byte_tokenizer(), ())
    ids = tokenizer.encode("€")
    assert [tokenizer.token_text(i) for i in ids] == ["<0xE2>", "<0x82>", "<0xAC>"]
    assert tokenizer.decode(ids) == "€"


def test_broken_unicode_is_refused() -> None:
    with pytest.raises(ValueError, match="Unicode"):
        HuggingFaceTokenizer(byte_tokenizer(), ()).encode("a\ud800b")


def test_a_sentencepiece_vocabulary() -> None:
    from tokenizers import Tokenizer, decoders, models

    words = {"<unk>": 0, "▁the": 1, "<0x0A>": 2, "<0xE2>": 3, "a": 4}
    backend = Tokenizer(models.BPE(vocab=words, merges=[], byte_fallback=True))
    backend.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer = HuggingFaceTokenizer(backend, ())
    assert [tokenizer.token_text(i) for i in range(5)] == ["<unk>", " the", "\n", "<0xE2>", "a"]


@pytest.mark.parametrize("named", [7, [7, 9], None])
def test_end_tokens_come_from_tokenizer_and_generation_config(tmp_path: Path, named: Any) -> None:
    save_model(tmp_path)
    add_generation_config(tmp_path, **({} if named is None else {"eos_token_id": named}))
    tokenizer = huggingface.load_tokenizer(tmp_path, "tiny")
    own = tokenizer.vocabulary()[END]
    assert tokenizer.end_ids == {own} | ({7} if named == 7 else set(named or ()))


def test_hidden_defaults_change_nothing(tmp_path: Path) -> None:
    module = save_model(tmp_path)
    add_generation_config(tmp_path)
    tokenizer = huggingface.load_tokenizer(tmp_path, "tiny")
    model = huggingface.load_model(tmp_path, "tiny", tokenizer, DEVICE, torch.float32)
    expected = logits_of(module, [1, 2, 3])[-1:, : model.vocabulary_size]
    assert model.start().extend([1, 2, 3]) == pytest.approx(expected, abs=TOLERANCE)


# --- device and dtype ------------------------------------------------------------------------------------------------


def test_the_device_is_chosen_and_can_be_overridden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert choose_device() == "cpu"
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert choose_device() == "mps"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert choose_device() == "cuda"
    assert choose_device("cuda:1") == "cuda:1"
    monkeypatch.setenv("SPECDEC_DEVICE", "cpu")
    assert choose_device() == "cpu" and choose_device("mps") == "mps"


@pytest.mark.parametrize("asked", ["cuda:2", "gpu", "cuda:x", "xpu", "meta", "a" * 100, "cpu\n"])
def test_a_device_that_is_not_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch, asked: str) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(ModelUnavailable, match="(not available|device must be)"):
        choose_device(asked)


def test_the_dtype_follows_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False)
    assert [choose_dtype(x) for x in ("cuda", "cuda:1", "mps", "cpu")] == [torch.bfloat16] * 2 + [torch.float32] * 2
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: True)
    assert choose_dtype("cpu") == torch.bfloat16
    monkeypatch.setenv("SPECDEC_DTYPE", "float32")
    assert choose_dtype("cpu") == torch.float32 and choose_dtype("cpu", "bfloat16") == torch.bfloat16
    with pytest.raises(ModelUnavailable, match="dtype must be one of .*int4"):
        choose_dtype("cpu", "int4")


def test_bfloat16_gives_float32_rows(tmp_path: Path) -> None:
    """bfloat16 keeps eight bits, so logits of size 1 agree to some hundredths."""
    module = save_model(tmp_path)
    tokenizer = huggingface.load_tokenizer(tmp_path, "tiny")
    model = huggingface.load_model(tmp_path, "tiny", tokenizer, DEVICE, torch.bfloat16)
    found = model.start().extend([1, 2, 3])
    expected = logits_of(module, [1, 2, 3])[-1:, : model.vocabulary_size]
    assert found.dtype == np.float32 and model.info.dtype == "bfloat16"
    assert found == pytest.approx(expected, abs=0.05 * float(np.abs(expected).max()))
