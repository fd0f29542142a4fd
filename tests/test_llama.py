"""The lean Llama pass, on tiny random models against transformers' own, in every number format it has."""

import itertools
import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from specdec_core.models import llama, llama_files
from specdec_core.models.llama import CHUNK, LlamaModel, Shape
from specdec_core.models.protocol import LanguageModel, ModelUnavailable, Session
from tests.conftest_models import DEVICE

torch = pytest.importorskip("torch")

#: The same float32 numbers, added in another order: some 1e-6 of logits of size 10, and these random weights, larger
#: than a trained model's, enlarge it some ten times from layer to layer.
TOLERANCE = 1e-3
CONFIG: dict[str, Any] = {
    "vocab_size": 97,
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 700,
    "rms_norm_eps": 1e-5,
    "rope_parameters": {"rope_theta": 5000.0, "rope_type": "default"},
    "initializer_range": 0.3,
}
SHAPE = Shape.from_config(CONFIG)


@pytest.fixture(scope="module")
def reference() -> Any:
    """transformers' model with tied embeddings, its weights rounded to float16 so that both formats hold the same."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(3)
    module = LlamaForCausalLM(LlamaConfig(**(CONFIG | {"tie_word_embeddings": True}))).eval().requires_grad_(False)
    for name, weight in module.named_parameters():
        weight.copy_((weight if "norm" not in name else 1 + 0.3 * torch.randn_like(weight)).half().float())
    return module


def lean(reference: Any, kind: str = "float16", dtype: Any = None) -> LlamaModel:
    tensors = {k: v.half() if kind == "float16" else v for k, v in reference.state_dict().items()}
    dtype = dtype or torch.float32
    embedding = tensors["model.embed_tokens.weight"].to(DEVICE)
    head = llama.product(embedding, dtype, DEVICE)
    return llama_files.build("lean", SHAPE, tensors, embedding, head, dtype, DEVICE, "float32")


@pytest.fixture(scope="module", params=["float16", "float32"])
def model(request: pytest.FixtureRequest, reference: Any) -> LlamaModel:
    """Weights kept as float16 where the processor can widen them, and as float32."""
    return lean(reference, request.param)


def expected(reference: Any, tokens: list[int]) -> np.ndarray:
    with torch.inference_mode():
        return reference(torch.tensor([tokens])).logits[0].numpy()


def some(n: int, seed: int = 0) -> list[int]:
    return np.random.default_rng(seed).integers(0, 97, n).tolist()


def test_it_is_what_decoding_asks_for(model: LlamaModel) -> None:
    assert isinstance(model, LanguageModel) and isinstance(model.start(), Session)
    assert (model.vocabulary_size, model.context_length, model.info.layers) == (97, 700, 3)


def test_it_agrees_with_transformers(model: LlamaModel, reference: Any) -> None:
    """In one go, token by token, in blocks, and across the places where the cache grows and prompts are cut."""
    tokens = some(2 * CHUNK + 40)
    right = expected(reference, tokens)
    session = model.start()
    cuts = [0, 1, 2, 7, 8, CHUNK - 1, CHUNK + 1, 2 * CHUNK + 20, 2 * CHUNK + 30, len(tokens)]
    for start, end in itertools.pairwise(cuts):
        last = min(end - start, 9)
        found = session.extend(tokens[start:end], last)
        assert found.shape == (last, 97) and found.dtype == np.float32
        assert found == pytest.approx(right[end - last : end], abs=TOLERANCE)
    whole = model.start().extend(tokens, last=CHUNK + 10)
    assert whole == pytest.approx(right[-CHUNK - 10 :], abs=TOLERANCE)


@pytest.mark.parametrize("back_to", [0, 1, 6, 11, 12])
def test_after_a_rollback_nothing_is_left_of_what_was_taken_back(
    model: LlamaModel, reference: Any, back_to: int
) -> None:
    session = model.start()
    session.extend(some(12))
    session.rollback(back_to)
    assert session.length == back_to
    found = session.extend(some(5, seed=9), last=5)
    assert found == pytest.approx(expected(reference, some(12)[:back_to] + some(5, seed=9))[-5:], abs=TOLERANCE)


def test_real_turns_are_the_complex_ones(reference: Any) -> None:
    """The path for backends without complex numbers."""
    one, other = lean(reference), lean(reference)
    other._complex = False
    tokens = some(30)
    assert one.start().extend(tokens, last=30) == pytest.approx(other.start().extend(tokens, last=30), abs=1e-5)


def test_bfloat16_is_close(reference: Any) -> None:
    """Weights and what they are multiplied with keep eight bits: a percent or two of the logits' spread."""
    found = lean(reference, dtype=torch.bfloat16).start().extend(some(20), last=20)
    right = expected(reference, some(20))
    assert np.sqrt(np.mean((found - right) ** 2)) < 0.05 * right.std()


@pytest.mark.parametrize("rows", [2, 5, 9])
def test_a_row_does_not_depend_on_its_neighbours(reference: Any, rows: int) -> None:
    """The float16 kernel gives each row the same bits however many there are; so the text cannot depend on tau."""
    if not llama._widens() or DEVICE != "cpu":
        pytest.skip("no float16 kernel here")
    torch.manual_seed(1)
    run = llama.product(torch.randn(64, 48).half(), torch.float32, "cpu")
    x = torch.randn(rows, 48)
    assert torch.equal(run(x), torch.cat([run(row[None]) for row in x]))


def test_without_the_float16_kernel_the_result_is_the_same(reference: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    one = lean(reference).start().extend(some(20), last=20)
    monkeypatch.setattr(llama, "_widens", lambda: False)
    assert lean(reference).start().extend(some(20), last=20) == pytest.approx(one, abs=TOLERANCE)


def narrow(reference: Any, tmp_path: Path, int8: bool) -> tuple[LlamaModel, LlamaModel]:
    from specdec_core.models import embedded

    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    target = lean(reference)
    stored = embedded.quantise({k: v for k, v in reference.state_dict().items() if k.startswith("model.")})
    stored = {k: v for k, v in stored.items() if "embed" not in k}
    stored["output_ids"] = torch.tensor([1, 5, 8, 40, 96], dtype=torch.int32)
    return llama_files.load_draft(tmp_path, "narrow", stored, target, torch.float32, DEVICE, int8), target


def test_a_narrow_draft_scores_its_own_tokens_only(reference: Any, tmp_path: Path) -> None:
    draft, target = narrow(reference, tmp_path, int8=False)
    assert draft.output_ids is not None and draft.output_ids.tolist() == [1, 5, 8, 40, 96]
    full, rows = draft.start().extend(some(6), last=2), draft.start().extend_narrow(some(6), last=2)
    assert full.shape == (2, 97) and rows.shape == (2, 5)
    assert full[:, draft.output_ids].tolist() == rows.tolist()
    assert np.isneginf(np.delete(full, draft.output_ids, axis=1)).all()
    # int8 matrices: half a step in 127 of each row's largest weight.
    right = target.start().extend(some(6), last=2)[:, draft.output_ids]
    assert np.sqrt(np.mean((rows - right) ** 2)) < 0.1 * right.std()


@pytest.mark.skipif(DEVICE != "cpu", reason="int8 matrices are for the CPU")
def test_an_int8_draft_is_close_to_its_expanded_self(reference: Any, tmp_path: Path) -> None:
    """It rounds what it multiplies to bfloat16 and its output matrix to int8."""
    one, _ = narrow(reference, tmp_path, int8=True)
    other, _ = narrow(reference, tmp_path, int8=False)
    assert one.info.dtype == "int8" and other.info.dtype == "float32"
    a, b = (x.start().extend_narrow(some(20), last=20) for x in (one, other))
    assert np.sqrt(np.mean((a - b) ** 2)) < 0.05 * b.std()


def test_threads_that_share_a_model(model: LlamaModel) -> None:
    def read(seed: int) -> np.ndarray:
        session = model.start()
        return np.concatenate([session.extend([x]) for x in some(30, seed)])

    alone = [read(seed) for seed in range(4)]
    found: dict[int, np.ndarray] = {}
    threads = [threading.Thread(target=lambda i=i: found.update({i: read(i)})) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(found[i], alone[i]) for i in range(4))


def test_misuse_is_a_sentence(model: LlamaModel) -> None:
    session = model.start()
    with pytest.raises(ValueError, match="701 tokens do not fit into a context of 700"):
        session.extend([1] * 701)
    with pytest.raises(ValueError, match="last 3 of 2"):
        session.extend([1, 2], last=3)
    with pytest.raises(ValueError, match="roll back to 1 of 0"):
        session.rollback(1)


@pytest.mark.parametrize(
    "change",
    [{"attention_bias": True}, {"hidden_act": "gelu"}, {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1}}],
)
def test_other_variants_are_refused(change: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="plain Llama"):
        Shape.from_config(CONFIG | change)


def test_broken_files_are_a_sentence(reference: Any, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="cannot be read"):
        llama_files.load_target(tmp_path, "m", torch.float32, DEVICE)
    tensors = dict(reference.state_dict())
    del tensors["model.layers.1.mlp.up_proj.weight"]
    head = llama.product(tensors["model.embed_tokens.weight"], torch.float32, DEVICE)
    with pytest.raises(ModelUnavailable, match=r"lacks the weight model.layers.1.mlp.up_proj.weight"):
        llama_files.build("m", SHAPE, tensors, tensors["model.embed_tokens.weight"], head, torch.float32, DEVICE, "x")
