"""The question bank: for thousands of variants the right answer is right, every known mistake wrong, nothing ambiguous.

Answers are worked out a second time here, from the payload that the picture is drawn from and with fractions of our
own, so that generator and test cannot share a slip.
"""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import pytest

from specdec_core.acceptance import RANDOM
from specdec_core.exercises import (
    Entry,
    InvalidFamily,
    Kind,
    Question,
    Status,
    Table,
    Text,
    Thinking,
    all_topics,
    entries,
    families,
    grade,
    misconceptions,
    question_to_plain,
    right_answers,
    variant,
)
from specdec_core.exercises.family_files import FOLDER, read_family, sentences
from specdec_core.exercises.follow import FOLLOWS
from specdec_core.exercises.grading import as_given
from specdec_core.exercises.mistakes import IDS
from specdec_core.exercises.question import apart, matches
from specdec_core.exercises.values import exact_text, parse_number

DRAWN = entries(needs_block=False)
SEEDS = 120
MANY = 2500
F = Fraction


def name_of(entry: Entry) -> str:
    return f"{entry.family}-{entry.level}"


# --- every variant --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", DRAWN, ids=name_of)
def test_variants(entry: Entry) -> None:
    for seed in range(SEEDS):
        check(variant(entry.family, entry.level, seed))


@pytest.mark.slow
@pytest.mark.parametrize("entry", DRAWN, ids=name_of)
def test_thousands_of_variants(entry: Entry) -> None:
    for seed in range(MANY):
        check(variant(entry.family, entry.level, seed * 7919 + 13))


def check(question: Question) -> None:
    right = right_answers(question)
    result = grade(question, right)
    assert result.all_right and result.score == question.max_points and not result.unanswered, question.id
    check_wrong_answers(question, right)
    check_separation(question)
    check_texts(question)
    second_opinion(question)


def check_wrong_answers(question: Question, right: dict) -> None:
    for step in question.steps:
        for wrong in step.wrong:
            result = grade(question, {**right, step.name: as_given(step, wrong.value)})
            mark = next(s for s in result.steps if s.name == step.name)
            assert mark.status in (Status.WRONG, Status.PARTLY), (question.id, step.name, wrong)
            assert mark.points < step.points and result.score < question.max_points
            assert (mark.feedback, mark.misconception) == (wrong.feedback, wrong.misconception)


def check_separation(question: Question) -> None:
    for step in question.steps:
        known = [step.answer, *(wrong.value for wrong in step.wrong)]
        for a, b in combinations(known, 2):
            assert apart(step, a, b), (question.id, step.name, a, b)
        ids = [option.id for option in step.options]
        texts = [option.text for option in step.options]
        assert len(set(ids)) == len(ids)
        if step.kind in (Kind.CHOICE, Kind.MULTI_CHOICE):
            assert len(set(texts)) == len(texts), (question.id, texts)


def check_texts(question: Question) -> None:
    said = [question.title, *(p.text for p in (*question.stem, *question.solution) if isinstance(p, Text))]
    for step in question.steps:
        said += [step.prompt, *step.hints, *(wrong.feedback for wrong in step.wrong)]
        if step.kind is Kind.NUMBER and isinstance(step.answer, Fraction):
            assert abs(parse_number(exact_text(step.answer)) - step.answer) <= step.tolerance / 1000
            rounded = round(float(step.answer), 2 if step.tolerance >= F(5, 1000) else 6)
            assert step.takes_range or abs(F(str(rounded)) - step.answer) <= max(step.tolerance, F(1, 10**6))
    for text in said:
        assert text and not re.search(r"\{[a-z_]+\}", text), (question.id, text)
    for part in (*question.stem, *question.solution):
        if isinstance(part, Table):
            assert part.rows and all(len(row) == len(part.columns) for row in part.rows)


# --- a second opinion -----------------------------------------------------------------------------------------------


def second_opinion(question: Question) -> None:
    if question.block and "r" in question.block:
        judge_again(question)
    if question.distributions:
        laws_again(question)
    if question.family == "what_the_draft_sees" and question.level == 1:
        context_again(question)


def fractions(values: list) -> list[Fraction]:
    return [F(repr(value)) for value in values]


def expect(question: Question, **answers: object) -> None:
    """Every answer that the question asks for is the one given here."""
    for step in question.steps:
        if step.name in answers:
            expected = answers[step.name]
            value = F(expected) if isinstance(expected, int | Fraction) else expected
            assert step.answer == value, (question.id, step.name, step.answer, value)


def judge_again(question: Question) -> None:
    assert question.block is not None
    q, p, r = (fractions(question.block[name]) for name in "qpr")
    stays = [a > 0 and not (c > a / b) for a, b, c in zip(p, q, r, strict=True)]
    # The same decisions in floats: nothing here hangs on the last digit, unless the question is about a tie.
    tie = question.family == "accept_or_reject" and question.level == 4
    for i in range(len(q)):
        assert tie or bool(RANDOM.accepts(float(p[i]), float(q[i]), float(r[i]))) == stays[i]
        assert tie or p[i] == 0 or abs(r[i] - p[i] / q[i]) >= F(4, 100), question.id
        if tie:
            assert r[i] == p[i] / q[i]
    tau = len(q)
    n_a = stays.index(False) if False in stays else tau
    first = f"t{n_a + 1}" if n_a < tau else "none"
    expect(
        question,
        decision="accepted" if stays[0] else "rejected",
        kept=min(F(1), p[0] / q[0]),
        smallest_p=r[0] * q[0],
        first=first,
        n_a=n_a,
        emitted=n_a + 1,
        next="residual" if n_a < tau else "bonus",
    )
    if question.family == "accept_or_reject":
        expect(question, ratio=p[0] / q[0])
    if n_a < tau:
        after = tuple(f"t{t}" for t in range(n_a + 2, tau + 1))
        then = next((i for i in range(tau) if i != n_a and not stays[i]), tau)
        expect(question, not_reached=after, largest_r=p[n_a] / q[n_a], n_a_then=then)
    for part in question.stem:
        if isinstance(part, Table):
            for name, numbers in (("q", q), ("p", p), ("r", r)):
                if name in part.columns:
                    column = part.columns.index(name)
                    assert [parse_number(row[column]) for row in part.rows] == numbers


def laws_again(question: Question) -> None:
    assert question.distributions is not None
    q, p = (fractions(question.distributions[name]) for name in "qp")
    assert sum(q) == sum(p) == 1
    kept = [min(a, b) for a, b in zip(p, q, strict=True)]
    alpha = sum(kept)
    rest = [max(F(0), a - b) / (1 - alpha) for a, b in zip(p, q, strict=True)]
    assert sum(rest) == 1
    lacking = tuple(f"w{i}" for i in range(len(p)) if p[i] > q[i])
    expect(question, can_be_drawn=lacking, total=1 - alpha, alpha=alpha)
    named = named_token(question)
    if question.family == "the_correction" and question.level == 4:
        return
    if named is not None:
        i = named
        expect(question, x_residual=rest[i], x_kept=kept[i], x_corrected=(1 - alpha) * rest[i])
        if question.family == "the_correction":
            expect(question, x_out=p[i])
    if question.family == "the_correction" and question.level == 3:
        u = parse_number(re.search(r"u = ([0-9]+(?:[.][0-9]+)?)", str(question.stem))[1])  # type: ignore[index]
        total, i = F(0), -1
        while total < u:
            i += 1
            total += rest[i]
        expect(question, drawn=f"w{i}")
    if question.family == "why_random" and question.level != 6:
        threshold_again(question, p, q, rest, named)
    if question.family == "how_far":
        tau = int(re.search(r"tau = (\d+)", str(question.stem))[1])  # type: ignore[index]
        expect(question, all=alpha**tau, emitted=sum(alpha**k for k in range(tau + 1)))


def named_token(question: Question) -> int | None:
    assert question.distributions is not None
    for step in question.steps:
        if step.name.startswith("x_"):
            match = re.findall("“(.+?)”", step.prompt)
            return question.distributions["vocabulary"].index(match[0]) if match else None
    return None


def threshold_again(question: Question, p: list, q: list, rest: list, named: int | None) -> None:
    ways = range(len(p))
    if question.level == 4:
        alpha = sum(min(p[i], q[i]) for i in ways)
        out = [min(p[i], q[i]) + (1 - alpha) * p[i] for i in ways]
    else:
        bar = re.search(r"(0[.][0-9]+) > p/q|at least (0[.][0-9]+)", str(question.stem))
        assert bar
        c = F(bar[1] or bar[2])
        stays = [p[i] / q[i] >= c for i in ways]
        mass = sum(q[i] for i in ways if stays[i])
        out = [(q[i] if stays[i] else F(0)) + (1 - mass) * rest[i] for i in ways]
        kept, lost = (tuple(f"w{i}" for i in ways if stays[i] == which) for which in (True, False))
        expect(question, kept=kept, lost=lost, acceptance=mass)
    expect(question, tv=sum(abs(out[i] - p[i]) for i in ways) / 2)
    if named is not None:
        expect(question, x_out=out[named])


def context_again(question: Question) -> None:
    t = int(re.search(r"candidate t = (\d+)", question.steps[0].prompt)[1])  # type: ignore[index]
    answer = question.steps[0].answer
    assert isinstance(answer, tuple)
    assert [id_ for id_ in answer if id_[0] == "t"] == [f"t{i}" for i in range(1, t)]
    assert [id_ for id_ in answer if id_[0] != "t"] == [o.id for o in question.steps[0].options if o.id[0] in "xv"]


@pytest.mark.parametrize("level", [1, 2])
def test_how_far_by_hand(level: int) -> None:
    for seed in range(60):
        question = variant("how_far", level, seed)
        alpha = parse_number(re.search(r"alpha = ([0-9]+(?:[.][0-9]+)?)", str(question.stem))[1])  # type: ignore[index]
        tau = int(re.search(r"tau = (\d+)", str(question.stem))[1])  # type: ignore[index]
        expect(question, all=alpha**tau, emitted=sum(alpha**k for k in range(tau + 1)))
        expect(question, accepted=sum(alpha**k for k in range(1, tau + 1)))


def test_unequal_chances_by_hand() -> None:
    for seed in range(60):
        question = variant("how_far", 3, seed)
        table = next(part for part in question.stem if isinstance(part, Table))
        chances = [parse_number(row[1]) for row in table.rows]
        product = F(1)
        for chance in chances:
            product *= chance
        k = int(re.search(r"exactly (\d+)", question.step("exactly").prompt)[1])  # type: ignore[index]
        exactly = F(1)
        for chance in chances[:k]:
            exactly *= chance
        expect(question, all=product, exactly=exactly * (1 - chances[k]))


def test_the_best_tau_by_hand() -> None:
    for seed in range(60):
        question = variant("how_far", 5, seed)
        text = str(question.stem)
        alpha, cost = (parse_number(re.search(rf"{x} = ([0-9]+(?:[.][0-9]+)?)", text)[1]) for x in ("alpha", " c"))  # type: ignore[index]
        gain = {tau: sum(alpha**k for k in range(tau + 1)) / (tau * cost + 1) for tau in (1, 2, 4, 8)}
        tau = int(re.search(r"tau = (\d+)", question.step("gain").prompt)[1])  # type: ignore[index]
        expect(question, gain=gain[tau], best=f"tau{max(gain, key=lambda t: gain[t])}")


def test_several_blocks_by_hand() -> None:
    for seed in range(60):
        question = variant("counting", 5, seed)
        table = next(part for part in question.stem if isinstance(part, Table))
        rows = [(int(row[1]), int(row[2])) for row in table.rows]
        accepted, drafted = sum(n for _tau, n in rows), sum(tau for tau, _n in rows)
        judged = sum(min(tau, n + 1) for tau, n in rows)
        expect(question, judged=judged, per_judged=F(accepted, judged), per_drafted=F(accepted, drafted))
        expect(question, per_block=F(accepted + len(rows), len(rows)))


def test_counts_by_hand() -> None:
    for level, passes in ((1, "accepted"), (2, "no"), (3, "no")):
        for seed in range(60):
            question = variant("counting", level, seed)
            table = next(part for part in question.stem if isinstance(part, Table))
            words = [row[2] for row in table.rows]
            n = next((i for i, word in enumerate(words) if word != passes), len(words))
            expect(question, n_a=n, emitted=n + 1, unreached=max(0, len(words) - n - 1))


def test_ranges_hold_for_every_number_in_them() -> None:
    for seed in range(40):
        question = variant("accept_or_reject", 7, seed)
        table = next(part for part in question.stem if isinstance(part, Table))
        kept, lost = re.findall("“(.+?)”", question.steps[0].prompt)
        ratio = {row[0]: F(row[2]) / F(row[1]) for row in table.rows}
        for hundredths in range(101):
            r = F(hundredths, 100)
            wanted = ratio[lost] < r <= ratio[kept]
            assert grade(question, {"r": str(float(r))}).all_right == wanted, (question.id, r)


# --- the same everywhere --------------------------------------------------------------------------------------------

GOLDEN: dict[str, str] = {
    "accept_or_reject": "beac1e45704fe832",
    "counting": "05e885c48002a6b9",
    "first_rejected": "a2c9ee44cb952ce9",
    "how_far": "3b848b5f356cf2fe",
    "the_correction": "1a1b4b7d98e208b9",
    "what_the_draft_sees": "86bdc2309493a2d0",
    "why_random": "725b82f539cf3a5f",
}


def digest(family: str) -> str:
    levels = [entry.level for entry in DRAWN if entry.family == family]
    plain = [question_to_plain(variant(family, level, seed)) for level in levels for seed in (0, 1, 2**40)]
    # Numbers, options and texts: what a student sees and what is right.
    return hashlib.sha256(json.dumps(plain, ensure_ascii=True, sort_keys=True).encode()).hexdigest()[:16]


@pytest.mark.parametrize("family", sorted({entry.family for entry in DRAWN}))
def test_same_seed_same_variant_on_every_machine(family: str) -> None:
    """A changed digest means that every class would get other questions for its seeds: change EDITION on purpose."""
    assert digest(family) == GOLDEN[family]


@pytest.mark.parametrize("entry", DRAWN, ids=name_of)
def test_seeds_give_different_questions(entry: Entry) -> None:
    few = entry.family == "what_the_draft_sees" and entry.level == 2
    texts = {str(variant(entry.family, entry.level, seed)).replace(f"seed={seed}", "") for seed in range(40)}
    assert len(texts) >= (3 if few else 15)


def test_both_verdicts_occur() -> None:
    for level in (1, 2):
        seen = {variant("accept_or_reject", level, seed).step("decision").answer for seed in range(40)}
        assert seen == {"accepted", "rejected"}
    assert {variant("first_rejected", 2, seed).step("n_a").answer for seed in range(60)} >= {F(0), F(1), F(2)}


MUST_SHOW = {
    "accepted_when_r_larger",
    "argmax_not_draw",
    "compared_with_half",
    "counted_after_rejection",
    "counted_the_rejected",
    "drafted_independently",
    "drew_again_from_p",
    "forgot_to_renormalise",
    "ignores_own_earlier_candidates",
    "inverted_ratio",
    "not_clipped",
    "off_by_one",
    "q_minus_p",
    "tau_not_tau_plus_one",
    "undefined_when_all_pass",
    "zero_when_all_pass",
}


def test_important_mistakes_can_be_seen() -> None:
    seen: dict[str, set] = defaultdict(set)
    for entry in DRAWN:
        for seed in range(8):
            for step in variant(entry.family, entry.level, seed).steps:
                for wrong in step.wrong:
                    seen[wrong.misconception].add(entry.family)
    assert {id_ for id_ in MUST_SHOW if id_ not in seen} == set()
    assert set(seen) <= IDS


# --- the bank -------------------------------------------------------------------------------------------------------


def test_eight_families_with_several_levels() -> None:
    assert len(families()) == 8
    assert all(len(family.levels) >= 4 for family in families().values())
    assert {entry.thinking for entry in entries()} == set(Thinking)


def test_filters() -> None:
    assert {entry.thinking for entry in entries(thinking=["create"])} == {Thinking.CREATE}
    assert all("residual" in entry.topics for entry in entries(topics=["residual"]))
    assert entries(topics=["residual"]) and not entries(topics=["no such topic"])
    assert {entry.family for entry in entries(needs_block=True)} == {"real_block"}
    assert "n_a" in all_topics()


@pytest.mark.parametrize(
    ("family", "level", "seed", "word"),
    [
        ("nope", 1, 0, "family"),
        ("counting", 99, 0, "level"),
        ("counting", 1, -1, "seed"),
        ("counting", 1, 2**63, "seed"),
        ("counting", 1, True, "seed"),
        ("counting", 1, 1.5, "seed"),
        ("real_block", 1, 0, "block"),
    ],
)
def test_what_is_not_there_is_said(family: str, level: int, seed: int, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        variant(family, level, seed)


def test_misconceptions_are_named_and_said_once() -> None:
    known = misconceptions()
    assert len(known) == len({m.name for m in known.values()}) == len(IDS)
    assert all(m.says.endswith(".") and len(m.name) <= 40 for m in known.values())


def test_every_sentence_of_the_data_can_be_translated() -> None:
    found = list(sentences())
    assert len(found) == len(set(found)) > 150
    assert "What is p/q?" in found


def test_follow_rules_are_used_and_known() -> None:
    used = {
        step.follow.rule
        for entry in DRAWN
        for seed in range(8)
        for step in variant(entry.family, entry.level, seed).steps
        if step.follow
    }
    assert used == set(FOLLOWS)


# --- faults in a family file ----------------------------------------------------------------------------------------


def family_with(change: Callable[[dict], object]) -> str:
    data = json.loads((FOLDER / "accept_or_reject.json").read_text("utf-8"))
    change(data)
    return json.dumps(data)


FAULTS: dict[str, tuple[Callable[[dict], object], str]] = {
    "format": (lambda d: d.update(format="x"), "format"),
    "name": (lambda d: d.update(family="other"), "family"),
    "no levels": (lambda d: d.update(levels=[]), "level"),
    "order": (lambda d: d["levels"].reverse(), "order"),
    "generator": (lambda d: d["levels"][0].update(generator="no_such"), "no_such"),
    "thinking": (lambda d: d["levels"][0].update(thinking="guess"), "guess"),
    "topics": (lambda d: d["levels"][0].update(topics=[]), "topics"),
    "typo": (lambda d: d["levels"][0].update(tittle="x"), "tittle"),
    "step typo": (lambda d: d["levels"][0]["steps"][0].update(hint="x"), "hint"),
    "points": (lambda d: d["levels"][0]["steps"][0].update(points=-1), "points"),
    "tolerance": (lambda d: d["levels"][0]["steps"][0].update(tolerance="much"), "tolerance"),
    "misconception": (lambda d: d["levels"][0]["steps"][0].update(feedback={"nope": "x"}), "nope"),
    "prompt": (lambda d: d["levels"][0]["steps"][0].pop("prompt"), "prompt"),
    "stem": (lambda d: d["levels"][0].update(stem=[3]), "stem"),
    "twice": (lambda d: d["levels"][0].update(steps=d["levels"][0]["steps"] * 2), "name of its own"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_a_family_is_one_clear_sentence(fault: str) -> None:
    change, word = FAULTS[fault]
    with pytest.raises(InvalidFamily) as caught:
        read_family(family_with(change), "accept_or_reject")
    assert word in str(caught.value) and "accept_or_reject" in str(caught.value)


def test_no_json_is_a_fault_too() -> None:
    with pytest.raises(InvalidFamily, match="not JSON"):
        read_family("{", "accept_or_reject")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda d: d["levels"][0].update(stem=["{nothing}"]), "nothing"),
        (lambda d: d["levels"][0].update(stem=[{"table": "nothing"}]), "nothing"),
        (lambda d: d["levels"][0]["steps"][0].update(name="nothing"), "nothing"),
    ],
)
def test_texts_must_name_what_the_generator_makes(change: Callable[[dict], object], word: str) -> None:
    from specdec_core.exercises.bank import made

    spec = read_family(family_with(change), "accept_or_reject")
    with pytest.raises(InvalidFamily, match=word):
        made(spec, spec.level(1), 0)


def test_settings_that_nothing_suits_end() -> None:
    from specdec_core.exercises.bank import made

    spec = read_family((FOLDER / "the_correction.json").read_text("utf-8"), "the_correction")
    impossible = replace(spec.level(1), settings={"size": [3, 3], "lacking": 3})
    with pytest.raises(InvalidFamily, match="no numbers suit"):
        made(spec, impossible, 0)


def test_the_folder_holds_nothing_else() -> None:
    assert {path.stem for path in Path(FOLDER).glob("*.json")} == set(families())


def test_matching_is_inclusive() -> None:
    step = variant("accept_or_reject", 2, 0).step("ratio")
    assert isinstance(step.answer, Fraction)
    assert matches(step, step.answer + step.tolerance, step.answer)
    assert not matches(step, step.answer + step.tolerance + F(1, 10**9), step.answer)
