"""Decoding with the embedded pair: against transformers, against itself uncached, and the law of its tokens.

``SPECDEC_TEST_DEVICE=cuda`` runs the same tests on a GPU.
"""

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from specdec_core.acceptance import Rule
from specdec_core.decoding import assemble, decode, plain
from specdec_core.distributions import Warp, probabilities
from specdec_core.models.protocol import Pair
from specdec_core.statistics import goodness_of_fit
from specdec_core.trace import Block, Settings, trace_from_json, trace_to_json
from tests.conftest_models import DEVICE, load, real_pair, reference  # noqa: F401

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.real_pair

NO_END: frozenset[int] = frozenset()
PROMPT = "Once upon a time, in a small village by the sea,"
PROMPTS = [PROMPT, "The three most important facts about water are", "def fibonacci(n):\n", "Dear Sir or Madam,"]


def ids_of(blocks: Sequence[Block]) -> list[int]:
    return [token.id for block in blocks for token in block.emitted if token.id is not None]


def without_times(blocks: Sequence[Block]) -> list[Block]:
    return [replace(block, seconds={}) for block in blocks]


@pytest.mark.parametrize("temperature", [0.0, 0.3, 1.0, 2.0])
def test_a_draft_that_is_the_target_is_always_accepted(real_pair: Pair, temperature: float) -> None:  # noqa: F811
    """p and q come from passes of 1 and of tau + 1 tokens, which differ in the last digits: a ratio may be 1 - 1e-5,
    and an r_t between the two would reject. With some 40 judged candidates that happens once in 2,500 such tests; the
    seed is fixed. At temperature 0 only a tie of the two best logits to six digits could.
    """
    same = Pair("same", real_pair.target, real_pair.target, real_pair.tokenizer)
    asked = Settings(PROMPT, tau=4, max_new_tokens=40, temperature=temperature, seed=3)
    blocks = list(decode(same, asked, end_ids=NO_END))
    assert all(block.first_rejected is None for block in blocks) and len(ids_of(blocks)) == 40


@pytest.mark.parametrize("prompt", PROMPTS[:2])
def test_greedy_text_is_that_of_transformers_whatever_tau(real_pair: Pair, reference: Any, prompt: str) -> None:  # noqa: F811
    start = real_pair.tokenizer.encode(prompt)
    with torch.inference_mode():
        ids = torch.tensor([start], device=DEVICE)
        whole = reference.generate(ids, do_sample=False, max_new_tokens=24, eos_token_id=None)
    expected = whole[0, len(start) :].tolist()
    for tau in (1, 2, 4, 8):
        asked = Settings(prompt, tau=tau, max_new_tokens=24, temperature=0.0)
        assert ids_of(list(decode(real_pair, asked, end_ids=NO_END, trace=False))) == expected
    asked = Settings(prompt, max_new_tokens=24, temperature=0.0)
    assert list(plain(real_pair, asked, end_ids=NO_END)) == expected


def test_p_and_q_are_those_of_an_uncached_pass(real_pair: Pair, reference: Any) -> None:  # noqa: F811
    """p against transformers' float32 pass over the whole text at once, q against the draft's own over it.

    Target: the same float32 sums in another order; logits agree to 2e-4, so probabilities do to 2e-4 of themselves, and
    1e-3 leaves room. Draft: its int8 layers round to bfloat16 on the way, and sums that differ in the last digit round
    to different neighbours, which grows to some hundredths of a logit (measured: 0.4 at most); p/q is always formed
    with the q that was drawn from, so no exactness hangs on it. Ten percent of q plus 0.02 leaves room.
    """
    warp = Warp(0.9)
    asked = Settings(PROMPT, tau=4, max_new_tokens=24, temperature=0.9, seed=5)
    trace = assemble(real_pair, asked, list(decode(real_pair, asked, end_ids=NO_END)))
    assert trace_from_json(trace_to_json(trace)) == trace
    for block in trace.blocks:
        before = [token.id or 0 for token in trace.verified_before(block.index)]
        text = before + [x.token.id or 0 for x in block.positions]
        rows = range(len(before) - 1, len(text))
        with torch.inference_mode():
            logits = reference(torch.tensor([text], device=DEVICE)).logits[0].float().cpu().numpy()
        p = [probabilities(logits[i], warp) for i in rows]
        q = [probabilities(row, warp) for row in real_pair.draft.start().extend(text, last=len(block.positions) + 1)]
        for i, x in enumerate(block.positions):
            token = text[len(before) + i]
            assert x.p == pytest.approx(p[i][token], rel=1e-3, abs=1e-9)
            assert x.q == pytest.approx(q[i][token], rel=0.1, abs=0.02)
            assert x.alpha == pytest.approx(np.minimum(p[i], q[i]).sum(), abs=0.05)
            assert x.ratio == x.p / x.q


def test_two_threads_get_what_one_gets(real_pair: Pair) -> None:  # noqa: F811
    asked = [Settings(prompt, max_new_tokens=12, seed=i) for i, prompt in enumerate(PROMPTS)]
    alone = [without_times(list(decode(real_pair, x, end_ids=NO_END))) for x in asked]
    found: dict[int, list[Block]] = {}

    def run(i: int) -> None:
        found[i] = without_times(list(decode(real_pair, asked[i], end_ids=NO_END)))

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(asked))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[i] for i in range(len(asked))] == alone


def test_the_budget_and_the_end(real_pair: Pair) -> None:  # noqa: F811
    for budget in (1, 2, 5):
        assert len(ids_of(list(decode(real_pair, Settings(PROMPT, max_new_tokens=budget), end_ids=NO_END)))) == budget
    question = "<|im_start|>user\nSay yes.<|im_end|>\n<|im_start|>assistant\n"
    blocks = list(decode(real_pair, Settings(question, max_new_tokens=200, temperature=0.0)))
    assert blocks[-1].ends == "end of text" and ids_of(blocks)[-1] in real_pair.tokenizer.end_ids


def test_the_other_number_format_decodes_too() -> None:
    """bfloat16 on whatever device this is; a narrower draft included."""
    pair = load("bfloat16")
    for temperature in (0.0, 1.0):
        blocks = list(decode(pair, Settings(PROMPT, max_new_tokens=12, temperature=temperature), end_ids=NO_END))
        assert len(ids_of(blocks)) == 12


def test_the_second_load_is_quick() -> None:
    """5 s is the promise on two cores of their own; three times that is allowed here, where others use them too."""
    from specdec_core.models.pairs import load_pair

    start = time.perf_counter()
    load_pair("embedded", DEVICE)
    assert time.perf_counter() - start < 15


# --- the law of what comes out ---------------------------------------------------------------------------------------

N = 300
TOP_K = 4


class Remembered:
    """A model that answers the same short texts again and again without computing: sessions look up what was asked."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._known: dict[tuple[int, ...], NDArray[np.floating]] = {}
        self.info, self.vocabulary_size = model.info, model.vocabulary_size
        self.context_length = model.context_length

    def start(self) -> "RememberedSession":
        return RememberedSession(self)

    def row(self, text: tuple[int, ...]) -> NDArray[np.floating]:
        if text not in self._known:
            self._known[text] = self._model.start().extend(text)[0]
        return self._known[text]


class RememberedSession:
    def __init__(self, model: Remembered) -> None:
        self._model, self._text = model, tuple[int, ...]()

    @property
    def length(self) -> int:
        return len(self._text)

    def extend(self, tokens: Sequence[int], last: int = 1) -> NDArray[np.floating]:
        self._text += tuple(tokens)
        ends = range(len(self._text) - last + 1, len(self._text) + 1)
        return np.stack([self._model.row(self._text[:end]) for end in ends])

    def rollback(self, length: int) -> None:
        self._text = self._text[:length]


@pytest.fixture(scope="module")
def remembered() -> Pair:
    """The real pair's own logits. Top-k 4 leaves few texts, so hundreds of decodings cost some dozens of passes."""
    pair = load()
    return Pair("remembered", Remembered(pair.draft), Remembered(pair.target), pair.tokenizer)


def second_token_law(pair: Pair) -> NDArray[np.float64]:
    """The target's law of the second token after the prompt, summed over the first."""
    warp, start = Warp(1.0, TOP_K), pair.tokenizer.encode(PROMPT)
    first = probabilities(pair.target.start().extend(start)[0], warp)
    law = np.zeros_like(first)
    for token in np.flatnonzero(first).tolist():
        law += first[token] * probabilities(pair.target.start().extend([*start, token])[0], warp)
    return law


def counts(pair: Pair, rule: Rule) -> NDArray[np.int64]:
    out = np.zeros(pair.target.vocabulary_size, dtype=np.int64)
    for seed in range(N):
        asked = Settings(
            PROMPT,
            tau=2,
            max_new_tokens=2,
            top_k=TOP_K,
            rule=rule.name,
            parameter=rule.parameter,
            correction=rule.correction,
            seed=seed,
        )
        out[ids_of(list(decode(pair, asked, end_ids=NO_END, trace=False)))[1]] += 1
    return out


def test_the_second_token_follows_the_target(remembered: Pair) -> None:
    """The chi-square statistic's p-value is (nearly) uniform under the random rule, and the test speaks up below 0.001:
    that is its false-alarm probability, were the seeds others. They are fixed. Bins that expect below 5 are joined.
    """
    test = goodness_of_fit(counts(remembered, Rule()), second_token_law(remembered))
    assert test.dof >= 3 and not test.rejected, test


@pytest.mark.parametrize("rule", [Rule("fixed", 0.5), Rule("always"), Rule(correction="argmax")], ids=str)
def test_the_same_test_rejects_biased_rules(remembered: Pair, rule: Rule) -> None:
    """Negative control."""
    assert goodness_of_fit(counts(remembered, rule), second_token_law(remembered)).rejected
