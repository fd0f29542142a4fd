"""One trace feeds everything: at every step, cards, facts and sentences say what the block says, and nothing early."""

from hypothesis import given, settings
from hypothesis import strategies as st

from specdec_core.acceptance import Verdict
from specdec_core.steps import Kind, State, cards, n_a_known, sentence, shows_next, steps
from specdec_core.strip import strip_data, strip_text
from specdec_core.trace import Trace
from specdec_core.words import NOTATIONS
from tests.strategies import toy_traces


@given(toy_traces())
@settings(max_examples=60, deadline=None)
def test_steps_follow_the_algorithm(trace: Trace) -> None:
    for block in trace.blocks:
        kinds = [s.kind for s in steps(block)]
        assert kinds.count(Kind.DRAFT) == block.tau
        assert kinds.count(Kind.VERIFY) == 1
        assert kinds.count(Kind.JUDGE) == block.judged
        assert kinds.count(Kind.NEXT) == (block.next is not None)
        assert kinds == sorted(kinds, key=list(Kind).index)


@given(toy_traces(), st.data())
@settings(max_examples=100, deadline=None)
def test_nothing_is_shown_before_it_is_known(trace: Trace, data: st.DataObject) -> None:
    block = data.draw(st.sampled_from(trace.blocks))
    cursor = data.draw(st.integers(0, len(steps(block)) - 1))
    done = steps(block)[: cursor + 1]
    for card in cards(block, cursor):
        if card.shows_p:
            assert any(s.kind is Kind.VERIFY for s in done)
        if card.shows_r:
            assert any(s.kind is Kind.JUDGE and s.t == card.position.t for s in done)
    drawn = strip_data(trace.prompt, block, cursor, trace.settings.acceptance)
    known = n_a_known(block, cursor)
    assert any(fact[0].startswith("nₐ") for fact in drawn["facts"]) == known
    assert any(c["state"] in ("corrected", "bonus") for c in drawn["cards"]) == shows_next(block, cursor)


@given(toy_traces(), st.sampled_from(list(NOTATIONS)))
@settings(max_examples=60, deadline=None)
def test_the_last_step_shows_the_whole_block(trace: Trace, name: str) -> None:
    notation = NOTATIONS[name]
    for block in trace.blocks:
        last = len(steps(block)) - 1
        shown = cards(block, last)
        words = {
            Verdict.ACCEPTED: State.ACCEPTED,
            Verdict.REJECTED: State.REJECTED,
            Verdict.NOT_REACHED: State.NOT_REACHED,
        }
        assert [c.state for c in shown] == [words[x.verdict] for x in block.positions]
        drawn = strip_data(trace.prompt, block, last, trace.settings.acceptance, notation)
        assert drawn["facts"][0][0] == f"{notation.n_a} = {block.n_a}"
        assert [c["first"] for c in drawn["cards"]].count(True) == (block.first_rejected is not None)
        assert strip_text(block, trace.settings.acceptance, notation).count("\n") == block.tau


@given(toy_traces())
@settings(max_examples=40, deadline=None)
def test_every_step_has_a_sentence(trace: Trace) -> None:
    for block in trace.blocks:
        for cursor in range(len(steps(block))):
            text = sentence(block, cursor, trace.settings.acceptance)
            assert text and "{" not in text  # no place was left unfilled
