"""Questions from real blocks: decided from the rounded numbers on show, or refused with a reason."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from specdec_core.acceptance import RANDOM, Rule
from specdec_core.cases import case_from_plain, judge_case
from specdec_core.exercises import (
    FORMATS,
    Question,
    Table,
    UnsuitableBlock,
    from_block,
    from_json,
    grade,
    right_answers,
    suitable_levels,
    to_json,
)
from specdec_core.trace import Block

F = Fraction
CONTEXT = ["Once", " upon", " a", " time", ","]


def block_of(tokens: list[str], q: list[float], p: list[float], r: list[float], rule: Rule = RANDOM) -> Block:
    return judge_case(case_from_plain({"tokens": tokens, "q": q, "p": p, "r": r}), rule)


GOOD = block_of(
    [" there", " was", "<b>", "\n"],
    [0.8123456789, 0.5111111, 0.4123, 0.3],
    [0.6012345, 0.0000012345, 0.0, 0.3312345],
    [0.70001, 0.9, 0.1, 0.5],
)


def random_block(rng: np.random.Generator, tau: int) -> Block:
    q, p = rng.random(tau) ** 2, rng.random(tau) ** 3
    r = 1 - rng.random(tau)
    return block_of([f" w{i}" for i in range(tau)], q.tolist(), p.tolist(), r.tolist())


def shown_rows(question: Question) -> list[tuple[Fraction, ...]]:
    table = next(part for part in question.stem if isinstance(part, Table))
    places = [table.columns.index(name) for name in "qpr"]
    return [tuple(F(row[i]) for i in places) for row in table.rows]


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_every_level_of_a_good_block(level: int) -> None:
    for seed in range(12):
        question = from_block(GOOD, level, seed, CONTEXT)
        right = right_answers(question)
        assert grade(question, right).all_right
        for step in question.steps:
            for wrong in step.wrong:
                given = list(wrong.value) if isinstance(wrong.value, tuple) else wrong.value
                given = f"{given.numerator}/{given.denominator}" if isinstance(given, Fraction) else given
                mark = next(s for s in grade(question, {**right, step.name: given}).steps if s.name == step.name)
                assert not mark.good and mark.feedback == wrong.feedback


def test_the_shown_numbers_decide_as_the_real_ones_did() -> None:
    rng = np.random.default_rng(6)
    made = 0
    for _i in range(60):
        block = random_block(rng, int(rng.integers(1, 8)))
        for level in suitable_levels(block):
            question = from_block(block, level, 1)
            made += 1
            assert grade(question, right_answers(question)).all_right
            if level == 2:
                stays = [p > 0 and r <= p / q for q, p, r in shown_rows(question)]
                n_a = stays.index(False) if False in stays else len(stays)
                assert question.step("n_a").answer == n_a == block.n_a
            if level == 1:
                ((q, _p, r),) = shown_rows(question)
                name = next(x for x in block.positions if abs(x.q - float(q)) < 0.006 and abs(x.r - float(r)) < 0.006)
                assert (question.step("decision").answer == "accepted") == (name.verdict.value == "accepted")
    assert made > 140


def test_small_probabilities_keep_two_digits() -> None:
    text = str(from_block(GOOD, 2, 0).stem)
    assert "0.0000012" in text and "0.81" in text and "⏎" in text


def test_the_same_block_gives_the_same_question() -> None:
    assert from_block(GOOD, 2, 5) == from_block(GOOD, 2, 5)
    assert from_block(GOOD, 2, 5).id == f"real_block.2.5.{from_block(GOOD, 1, 0).source}"
    other = block_of(["a", "b"], [0.5, 0.5], [0.2, 0.3], [0.9, 0.1])
    assert from_block(other, 2, 5).source != from_block(GOOD, 2, 5).source


def test_what_cannot_be_asked_is_refused_with_a_reason() -> None:
    narrow = block_of(["a", "b"], [0.5, 0.5], [0.45, 0.25], [0.3, 0.5004])
    for level in (2, 4):
        with pytest.raises(UnsuitableBlock, match="narrowly"):
            from_block(narrow, level)
    chosen = from_block(narrow, 1).block  # the other candidate of the block is clear enough
    assert chosen == {"context": [], "tokens": ["a"], "q": [0.5], "p": [0.45], "r": [0.3]}
    passed = block_of(["a", "b"], [0.5, 0.5], [0.5, 0.5], [0.3, 0.9])
    with pytest.raises(UnsuitableBlock, match="Nothing was rejected"):
        from_block(passed, 4)
    with pytest.raises(UnsuitableBlock, match="three to eight"):
        from_block(passed, 3)
    assert suitable_levels(passed) == (1, 2)
    fixed = block_of(["a", "b"], [0.5, 0.5], [0.4, 0.1], [0.3, 0.9], Rule("fixed", 0.5))
    with pytest.raises(UnsuitableBlock, match="another rule"):
        from_block(fixed, 2)
    with pytest.raises(UnsuitableBlock, match="candidates"):
        from_block(random_block(np.random.default_rng(0), 12), 2)
    with pytest.raises(UnsuitableBlock):
        from_block(replace(GOOD, positions=()), 1)


@pytest.mark.parametrize(("level", "seed"), [(9, 0), (1, -1), (1, 2**64)])
def test_bad_level_or_seed(level: int, seed: int) -> None:
    with pytest.raises(ValueError, match="level|seed"):
        from_block(GOOD, level, seed)


def test_they_travel_like_the_others() -> None:
    questions = [from_block(GOOD, level, 2, CONTEXT) for level in (1, 2, 3, 4)]
    assert from_json(to_json(questions)).questions == tuple(questions)
    for form in FORMATS.values():
        assert form.write(questions, "Real")
