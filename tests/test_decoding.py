"""Decoding on toy models: budgets and ends, caches, reproducibility, the trace, and the law of what comes out."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from specdec_core import decoding
from specdec_core.acceptance import RULES, Rule, Verdict, residual
from specdec_core.decoding import InvalidPrompt, Streams, assemble, decode, plain
from specdec_core.distributions import Array, Warp, probabilities
from specdec_core.models.protocol import ModelInfo, Pair
from specdec_core.models.toy import ToyModel, ToyTokenizer, toy_pair
from specdec_core.recording import TOP, Recorder, Support, likeliest
from specdec_core.statistics import goodness_of_fit
from specdec_core.trace import Block, Settings, Trace, totals, trace_from_json, trace_to_json

NO_END: frozenset[int] = frozenset()
TAUS = [1, 2, 3, 5, 16]


def setting(prompt: str = "the", **changes: Any) -> Settings:
    return Settings(**({"prompt": prompt, "pair": "toy"} | changes))


def ids_of(blocks: Sequence[Block]) -> list[int]:
    return [token.id for block in blocks for token in block.emitted if token.id is not None]


def made_of(model_q: ToyModel, model_p: ToyModel, words: str = "abcdefgh", end: Sequence[str] = ()) -> Pair:
    return Pair("made", model_q, model_p, ToyTokenizer(tuple(words[: model_p.vocabulary_size]), end=end))


def random_pair(seed: int, size: int = 5, context_length: int | None = None) -> Pair:
    """Two models whose laws depend on the last two tokens, some entries 0."""
    rng = np.random.default_rng(seed)
    models = []
    for name in ("q", "p"):
        keys = [(i, j) for i in range(size) for j in range(size)] + [(i,) for i in range(size)]
        table: dict[tuple[int, ...], Array] = {}
        for key in keys:
            law = rng.dirichlet(np.full(size, 0.7)) * (rng.random(size) > 0.2)
            table[key] = law / law.sum() if law.sum() > 0 else np.full(size, 1 / size)
        models.append(
            ToyModel(
                name,
                [1 / size] * size,
                {k: v.tolist() for k, v in table.items()},
                order=2,
                context_length=context_length,
            )
        )
    return made_of(models[0], models[1])


# --- where a text ends -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("budget", [1, 2, 3, 4, 7, 17])
@pytest.mark.parametrize("rule", ["random", "always", "never"])
def test_the_token_budget_is_exact(tau: int, budget: int, rule: str) -> None:
    blocks = list(decode(toy_pair(), setting(tau=tau, max_new_tokens=budget, rule=rule), end_ids=NO_END))
    assert len(ids_of(blocks)) == budget
    assert [block.ends for block in blocks] == [""] * (len(blocks) - 1) + ["token budget"]
    assert sum(1 for _ in plain(toy_pair(), setting(max_new_tokens=budget), end_ids=NO_END)) == budget


def chain(law_after: dict[int, int], size: int) -> ToyModel:
    """After token i comes ``law_after[i]`` for certain."""
    table: dict[tuple[int, ...], list[float]] = {
        (i,): [float(j == after) for j in range(size)] for i, after in law_after.items()
    }
    return ToyModel("chain", [1 / size] * size, table)


@pytest.mark.parametrize("tau", TAUS)
def test_nothing_follows_an_end_of_text_among_the_candidates(tau: int) -> None:
    """a b c <end>: the end is drafted as third token; whatever tau, the text ends there, without a bonus."""
    model = chain({0: 1, 1: 2, 2: 3, 3: 3}, 4)
    pair = made_of(model, model, "abcd", end=("d",))
    blocks = list(decode(pair, setting("a", tau=tau, max_new_tokens=32)))
    assert ids_of(blocks) == [1, 2, 3]
    last = blocks[-1]
    assert last.ends == "end of text"
    if tau >= 3:
        assert last.tau == 3 and last.n_a == 3 and last.next is None  # nothing is drafted after it either


def test_a_rejected_end_of_text_ends_nothing() -> None:
    draft, target = chain({0: 3, 1: 2, 2: 2}, 4), chain({0: 1, 1: 2, 2: 2}, 4)
    blocks = list(decode(made_of(draft, target, "abcd", end=("d",)), setting("a", tau=4, max_new_tokens=5)))
    assert ids_of(blocks) == [1, 2, 2, 2, 2]
    assert blocks[0].positions[0].verdict is Verdict.REJECTED and blocks[0].ends == ""


def test_a_corrected_end_of_text_ends_the_text() -> None:
    draft, target = chain({0: 1, 1: 1}, 4), chain({0: 3, 1: 1}, 4)
    blocks = list(decode(made_of(draft, target, "abcd", end=("d",)), setting("a", tau=4, max_new_tokens=5)))
    assert ids_of(blocks) == [3] and blocks[-1].ends == "end of text"


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("room", [1, 2, 3, 9])
def test_the_context_length_is_honoured(tau: int, room: int) -> None:
    """The toy sessions raise when they are given more than they hold."""
    pair = random_pair(3, context_length=4 + room)
    blocks = list(decode(pair, setting("a b c d", tau=tau, max_new_tokens=32)))
    assert len(ids_of(blocks)) == room and blocks[-1].ends == "context length"
    assert sum(1 for _ in plain(pair, setting("a b c d", max_new_tokens=32))) == room


@pytest.mark.parametrize(
    "prompt, says",
    [("", "empty"), ("  \n", "empty"), ("dragon", "'dragon'"), ("the " * 60_000, "characters")],
)
def test_a_prompt_that_cannot_be_continued_is_refused_at_once(prompt: str, says: str) -> None:
    with pytest.raises(InvalidPrompt, match=says):
        decode(toy_pair(), setting(prompt))


def test_a_prompt_that_fills_the_context_is_refused() -> None:
    with pytest.raises(InvalidPrompt, match="at most 3"):
        decode(random_pair(1, context_length=4), setting("a b c d"))


def test_a_stop_leaves_whole_blocks() -> None:
    whole = list(decode(toy_pair(), setting(max_new_tokens=40), end_ids=NO_END))
    asked = iter([False, False, True])
    some = list(decode(toy_pair(), setting(max_new_tokens=40), end_ids=NO_END, stop=lambda: next(asked)))
    assert without_times(some) == without_times(whole[:2])
    assert list(decode(toy_pair(), setting(), stop=lambda: True)) == []


def without_times(blocks: Sequence[Block]) -> list[Block]:
    return [replace(block, seconds={}) for block in blocks]


# --- draft = target, temperature 0 -----------------------------------------------------------------------------------


@pytest.mark.parametrize("temperature", [0.0, 0.3, 1.0, 2.0])
@pytest.mark.parametrize("tau", TAUS)
def test_a_draft_that_is_the_target_is_always_accepted(temperature: float, tau: int) -> None:
    for seed in range(20):
        pair = random_pair(seed)
        same = Pair("same", pair.target, pair.target, pair.tokenizer)
        asked = setting("a b", tau=tau, max_new_tokens=30, temperature=temperature, seed=seed)
        blocks = list(decode(same, asked))
        assert all(block.first_rejected is None for block in blocks)
        assert totals(blocks).alpha == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(10))
def test_at_temperature_0_tau_makes_no_difference(seed: int) -> None:
    texts = [
        ids_of(list(decode(random_pair(seed), setting("a b", tau=tau, max_new_tokens=30, temperature=0.0))))
        for tau in (1, 2, 4, 8)
    ]
    greedy = list(plain(random_pair(seed), setting("a b", max_new_tokens=30, temperature=0.0)))
    assert texts == [greedy] * 4


# --- caches ----------------------------------------------------------------------------------------------------------


class WatchedModel:
    """A toy model whose sessions write down each call, and what they hold after it."""

    def __init__(self, model: ToyModel) -> None:
        self._model = model
        self.calls: list[tuple[str, int]] = []
        self.held: list[int] = []

    @property
    def info(self) -> ModelInfo:
        return self._model.info

    @property
    def vocabulary_size(self) -> int:
        return self._model.vocabulary_size

    @property
    def context_length(self) -> int | None:
        return self._model.context_length

    def start(self) -> "WatchedModel":
        self._session = self._model.start()
        return self

    @property
    def length(self) -> int:
        return self._session.length

    def extend(self, tokens: Sequence[int], last: int = 1) -> NDArray[np.floating]:
        assert 1 <= last <= len(tokens)
        self.calls.append(("extend", len(tokens)))
        self.held += tokens
        return self._session.extend(tokens, last)

    def rollback(self, length: int) -> None:
        assert 0 <= length <= len(self.held)
        self.calls.append(("rollback", length))
        del self.held[length:]
        self._session.rollback(length)


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("seed", range(5))
def test_caches_hold_what_is_verified_and_nothing_else(tau: int, seed: int) -> None:
    """After each block both caches hold the verified text less its last token, or a part of that which is right."""
    pair = random_pair(seed)
    assert isinstance(pair.draft, ToyModel) and isinstance(pair.target, ToyModel)
    draft, target = WatchedModel(pair.draft), WatchedModel(pair.target)
    verified = [0, 1, 2]
    for block in decode(
        Pair("watched", draft, target, pair.tokenizer), setting("a b c", tau=tau, max_new_tokens=40, seed=seed)
    ):
        verified += ids_of([block])
        assert target.held == verified[:-1]
        assert draft.held == verified[: len(draft.held)]
        assert len(verified) - 2 <= len(draft.held) <= len(verified) - 1  # behind by one after a whole block
        # One target pass judged the block; the draft was asked once per candidate.
        assert [kind for kind, _ in target.calls].count("extend") == 1
        assert [kind for kind, _ in draft.calls].count("extend") == block.tau
        target.calls.clear()
        draft.calls.clear()


@pytest.mark.parametrize("seed", range(5))
def test_the_recorded_q_and_p_are_those_of_the_text_so_far(seed: int) -> None:
    """Each position's numbers, found again from scratch, without caches."""
    pair = random_pair(seed)
    warp = Warp(0.8, 4, 0.95)
    asked = setting("a b", tau=3, max_new_tokens=30, temperature=0.8, top_k=4, top_p=0.95, seed=seed)
    trace = assemble(pair, asked, list(decode(pair, asked)))
    for block in trace.blocks:
        context = [token.id or 0 for token in trace.verified_before(block.index)]
        for x in block.positions:
            q = probabilities(pair.draft.start().extend(context)[-1], warp)
            p = probabilities(pair.target.start().extend(context)[-1], warp)
            assert x.token.id is not None
            assert (x.q, x.p) == (q[x.token.id], p[x.token.id])
            assert x.alpha == pytest.approx(np.minimum(p, q).sum(), abs=1e-15)
            context.append(x.token.id)
        assert block.start == len(trace.verified_before(block.index))


# --- reproducibility -------------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_trace_and_another_seed_another() -> None:
    one, two = (without_times(list(decode(toy_pair(), setting(seed=5), end_ids=NO_END))) for _ in range(2))
    assert one == two
    assert one != without_times(list(decode(toy_pair(), setting(seed=6), end_ids=NO_END)))


def test_a_trace_changes_nothing_of_what_is_emitted() -> None:
    asked = setting(max_new_tokens=60, seed=2)
    with_it, without = (list(decode(toy_pair(), asked, end_ids=NO_END, trace=on)) for on in (True, False))
    assert ids_of(with_it) == ids_of(without)
    assert all(x.alpha is None and not x.top for block in without for x in block.positions)


def test_threads_that_share_models_get_what_each_would_get_alone() -> None:
    pair = random_pair(8)
    asked = [setting("a b", max_new_tokens=60, seed=seed) for seed in range(6)]
    alone = [without_times(list(decode(pair, x))) for x in asked]
    found: dict[int, list[Block]] = {}

    def run(i: int) -> None:
        found[i] = without_times(list(decode(pair, asked[i])))

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(asked))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[i] for i in range(len(asked))] == alone


def test_streams_do_not_overlap() -> None:
    streams = Streams.from_seed(7)
    drawn = [rng.random(50) for rng in (streams.draft, streams.r, streams.correction)]
    assert len(np.unique(np.concatenate(drawn))) == 150


# --- the trace -------------------------------------------------------------------------------------------------------


def rules() -> st.SearchStrategy[tuple[str, str]]:
    return st.tuples(st.sampled_from(sorted(RULES)), st.sampled_from(["residual", "target", "argmax"]))


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    tau=st.integers(1, 8),
    temperature=st.sampled_from([0.0, 0.5, 1.0, 3.0]),
    top_k=st.integers(0, 5),
    rule=rules(),
)
def test_a_trace_is_read_back_as_it_was(
    seed: int, tau: int, temperature: float, top_k: int, rule: tuple[str, str]
) -> None:
    pair = random_pair(seed % 50)
    asked = setting("a b", tau=tau, temperature=temperature, top_k=top_k, seed=seed, rule=rule[0], correction=rule[1])
    trace = assemble(pair, asked, list(decode(pair, asked)), title="a <b> title")
    assert trace_from_json(trace_to_json(trace)) == trace
    check_positions(trace)


def check_positions(trace: Trace) -> None:
    """What every position of any trace keeps to."""
    for block in trace.blocks:
        assert len(block.emitted) == block.n_a + (block.next is not None)
        for x in block.positions:
            shown = {top.token.id: top for top in x.top}
            assert x.token.id in shown and shown[x.token.id].q == x.q and shown[x.token.id].p == x.p
            assert [max(t.q, t.p) for t in x.top] == sorted((max(t.q, t.p) for t in x.top), reverse=True)


def test_the_support_of_a_narrow_draft() -> None:
    support = Support(np.array([1, 4, 6]), 8)
    q = np.array([0.2, 0.5, 0.3])
    assert [support.at(q, x) for x in range(8)] == [0, 0.2, 0, 0, 0.5, 0, 0.3, 0]
    assert support.at_many(q, np.arange(8)).tolist() == support.spread(q).tolist()
    assert [support.token(i) for i in range(3)] == [1, 4, 6]
    assert support.of(np.arange(8.0)).tolist() == [1, 4, 6]


@given(st.integers(0, 10**6), st.sampled_from([20, 3000]), st.sampled_from([0.01, 0.3, 3.0]), st.integers(1, 12))
def test_the_likeliest_tokens_are_found_without_sorting(seed: int, size: int, spread: float, k: int) -> None:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(size, spread)) * (rng.random(size) > 0.3)
    p = np.round(p, 4) if seed % 2 else p  # rounding makes ties
    expected = [i for i in np.argsort(-p, kind="stable")[:k].tolist() if p[i] > 0]
    assert likeliest(p, k).tolist() == expected


@settings(max_examples=150)
@given(
    st.integers(0, 10**6), st.sampled_from([12, 3000]), st.sampled_from([0.02, 0.3, 5.0]), st.booleans(), st.booleans()
)
def test_the_residual_s_likeliest_tokens_are_exact(
    seed: int, size: int, spread: float, narrow: bool, close: bool
) -> None:
    """Against the whole residual, for flat and peaked laws, q narrow or not, close to p or far from it."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(size, spread))
    ids = np.sort(rng.choice(size, size // 2, replace=False)) if narrow else None
    support = Support(ids, size)
    q = rng.dirichlet(np.full(size if ids is None else ids.size, spread))
    if close:
        q = 0.999 * support.of(p) + 0.001 * q
        q /= q.sum()
    recorder = Recorder(str, support, full=True)
    alpha = float(np.minimum(support.of(p), q).sum())
    found, total = recorder._rest(q, p, alpha)
    lack = np.maximum(0.0, p - support.spread(q))
    assert total == pytest.approx(lack.sum(), rel=1e-9, abs=1e-15)
    best = np.sort(lack)[::-1][:TOP]
    assert lack[found].tolist() == best[best > 0].tolist()


def test_where_p_is_q_there_is_no_residual_to_show() -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(3000))
    top = Recorder(str, Support(None, p.size), full=True)._top(p, p.copy(), 1.0, 17)
    assert residual(p, p) is None and all(x.residual == 0 for x in top)


# --- the law of what comes out ---------------------------------------------------------------------------------------

N = 1200


def law_of_token(pair: Pair, prompt: Sequence[int], index: int) -> Array:
    """The target's law of the ``index``-th token after ``prompt``, by summing over all texts before it."""
    laws: dict[tuple[int, ...], float] = {tuple(prompt): 1.0}
    size = pair.target.vocabulary_size
    for step in range(index):
        law = np.zeros(size)
        after: dict[tuple[int, ...], float] = {}
        for text, weight in laws.items():
            p = probabilities(pair.target.start().extend(text)[-1])
            law += weight * p
            if step < index - 1:
                for x in np.flatnonzero(p).tolist():
                    key = (*text, x)[-2:]  # the toy models look two tokens back, no further
                    after[key] = after.get(key, 0.0) + weight * p[x]
        laws = after
    return law


def counts(pair: Pair, index: int, rule: Rule, tau: int, n: int = N) -> NDArray[np.int64]:
    """How often each token came ``index``-th in ``n`` independent decodings, one per seed."""
    out = np.zeros(pair.target.vocabulary_size, dtype=np.int64)
    for seed in range(n):
        asked = setting(
            "a b",
            tau=tau,
            max_new_tokens=index,
            rule=rule.name,
            parameter=rule.parameter,
            correction=rule.correction,
            seed=seed,
        )
        out[ids_of(list(decode(pair, asked, end_ids=NO_END, trace=False)))[index - 1]] += 1
    return out


@pytest.mark.parametrize("index, tau", [(1, 1), (1, 4), (3, 1), (3, 4)])
def test_decoded_tokens_follow_the_target(index: int, tau: int) -> None:
    """Under the random rule the chi-square statistic's p-value is (nearly) uniform, so each of these four cases is a
    false alarm with probability 0.001, all together with at most 0.004 by the union bound. Seeds are fixed: a test that
    passed once passes always, and 0.004 is the chance that a change of seeds or of the order of draws meets bad luck.
    """
    pair = random_pair(11)
    test = goodness_of_fit(counts(pair, index, Rule(), tau), law_of_token(pair, [0, 1], index))
    assert test.dof >= 3 and not test.rejected, test


BIASED = [
    Rule("fixed", 0.5),
    Rule("fixed", 0.9),
    Rule("lenient", 0.3),
    Rule("ensemble", 0.3),
    Rule("always"),
    Rule("never"),
    Rule(correction="target"),
    Rule(correction="argmax"),
]


@pytest.mark.parametrize("index, rule", [(1, rule) for rule in BIASED] + [(3, rule) for rule in BIASED[::3]], ids=str)
def test_the_same_test_rejects_every_biased_rule(index: int, rule: Rule) -> None:
    """Negative control: what the test above cannot tell from p, it would not find in the random rule either."""
    pair = random_pair(11)
    assert goodness_of_fit(counts(pair, index, rule, 2), law_of_token(pair, [0, 1], index)).rejected


def one_stream(seed: int) -> Streams:
    rng = np.random.default_rng(seed)
    return Streams(rng, np.random.default_rng(seed), np.random.default_rng(seed))


@pytest.fixture
def reused_randomness(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(decoding.Streams, "from_seed", staticmethod(one_stream))
    yield


@pytest.mark.parametrize("index", [1, 3])
def test_reused_randomness_is_found_out(reused_randomness: None, index: int) -> None:
    """r_t equal to the draft's own draw: acceptance looks right, the text is not."""
    pair = random_pair(11)
    assert goodness_of_fit(counts(pair, index, Rule(), 2), law_of_token(pair, [0, 1], index)).rejected
