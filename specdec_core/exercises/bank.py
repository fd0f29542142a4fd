"""The question bank: from family, level and seed to a question, the same one everywhere.

Does not know: the screen, who asks, grading.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from specdec_core.exercises.draws import MAX_SEED, Draws
from specdec_core.exercises.family_files import PLACE, FamilySpec, InvalidFamily, LevelSpec, StepSpec, families, pools
from specdec_core.exercises.generators import GENERATORS
from specdec_core.exercises.generators.base import Asked, Draft, Redraw
from specdec_core.exercises.mistakes import Misconception, misconceptions
from specdec_core.exercises.question import (
    Answer,
    Kind,
    Option,
    Part,
    Question,
    Step,
    Table,
    Text,
    Thinking,
    Wrong,
    apart,
)
from specdec_core.words import _

#: Part of every seed's derivation: a change of it, or of a generator's draws, gives every class new numbers.
EDITION = "specdec-exercises/1"
_ATTEMPTS = 2000


@dataclass(frozen=True)
class Entry:
    """One family and level, as lists and filters show them."""

    family: str
    family_title: str
    level: int
    title: str
    thinking: Thinking
    topics: tuple[str, ...]
    points: int
    needs_block: bool


def entries(
    topics: Iterable[str] = (), thinking: Iterable[Thinking | str] = (), needs_block: bool | None = None
) -> tuple[Entry, ...]:
    """What the bank holds, filtered: any of ``topics`` (English ids) and any of ``thinking``; empty means all."""
    wanted_topics, wanted_thinking = set(topics), {Thinking(level) for level in thinking}
    found = []
    for family in families().values():
        for level in family.levels:
            if wanted_topics and not wanted_topics.intersection(level.topics):
                continue
            if wanted_thinking and level.thinking not in wanted_thinking:
                continue
            if needs_block is None or family.needs_block == needs_block:
                found.append(_entry(family, level))
    return tuple(found)


def _entry(family: FamilySpec, level: LevelSpec) -> Entry:
    points = sum(step.points for step in level.steps if not step.key_ideas)
    return Entry(
        family.name,
        _(family.title),
        level.level,
        _(level.title),
        level.thinking,
        level.topics,
        points,
        family.needs_block,
    )


def all_topics() -> tuple[str, ...]:
    """Every topic's id, in the bank's order. Show ``_(topic)``."""
    return tuple(dict.fromkeys(topic for f in families().values() for level in f.levels for topic in level.topics))


def variant(family: str, level: int, seed: int) -> Question:
    """The question for ``family``, ``level`` and ``seed``; the same on every machine.

    Raises ValueError, one sentence: unknown family or level, seed out of range, a family that needs a block.
    """
    spec = family_named(family)
    if spec.needs_block:
        raise ValueError(f"questions of {family} are made from a block; there is nothing to draw.")
    return made(spec, spec.level(level), checked_seed(seed))


def family_named(family: str) -> FamilySpec:
    """The family. Raises ValueError."""
    if family not in families():
        raise ValueError(f"family must be one of {', '.join(families())}, not {str(family)[:40]!r}.")
    return families()[family]


def checked_seed(seed: int) -> int:
    """``seed``, if it is one. Raises ValueError."""
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= MAX_SEED:
        raise ValueError(f"seed must be a whole number from 0 to {MAX_SEED}, not {str(seed)[:40]}.")
    return seed


def made(spec: FamilySpec, level: LevelSpec, seed: int) -> Question:
    """Draws until the numbers suit the question, then puts it together."""
    for attempt in range(_ATTEMPTS):
        draws = Draws(EDITION, spec.name, level.level, seed, attempt)
        try:
            return build(spec, level, seed, GENERATORS[level.generator](draws, level.settings, pools()))
        except Redraw:
            continue
    raise InvalidFamily(f"{spec.name}, level {level.level}: no numbers suit its settings.")


def build(spec: FamilySpec, level: LevelSpec, seed: int, draft: Draft, source: str = "") -> Question:
    """The question that the data file's texts and the generator's draft make together.

    Raises InvalidFamily when a text names what the generator does not make, Redraw when wrong answers are too close.
    """
    where = f"{spec.name}, level {level.level}"
    known = misconceptions()
    return Question(
        family=spec.name,
        level=level.level,
        seed=seed,
        title=_fill(level.title, draft, where),
        thinking=level.thinking,
        topics=level.topics,
        stem=_parts(level.stem, draft, where),
        steps=_steps(level, draft, known, where),
        solution=_parts(level.solution, draft, where),
        block=draft.block,
        distributions=draft.distributions,
        source=source,
    )


def _steps(level: LevelSpec, draft: Draft, known: Mapping[str, Misconception], where: str) -> tuple[Step, ...]:
    steps: list[Step] = []
    for spec in level.steps:
        step = _step(spec, draft, known, where)
        earlier = {s.name for s in steps}
        # A level may leave out the step that another one follows from; then there is nothing to follow.
        if step.follow is not None and not earlier.issuperset(step.follow.uses):
            step = replace(step, follow=None)
        steps.append(step)
    return tuple(steps)


def _fill(text: str, draft: Draft, where: str) -> str:
    """The translated text with its places filled. Values are never read as templates again."""
    if not text:
        return ""

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if name not in draft.values:
            raise InvalidFamily(f"{where}: the text {text[:40]!r} names {{{name}}}, which the generator does not make.")
        return draft.values[name]

    return PLACE.sub(value, _(text))


def _parts(parts: Iterable[str | Mapping[str, str]], draft: Draft, where: str) -> tuple[Part, ...]:
    return tuple(
        Text(_fill(p, draft, where)) if isinstance(p, str) else _table(p["table"], draft, where) for p in parts
    )


def _table(name: str, draft: Draft, where: str) -> Table:
    if name not in draft.tables:
        raise InvalidFamily(f"{where}: there is no table {name!r}; the generator makes {', '.join(draft.tables)}.")
    return draft.tables[name]


def _step(spec: StepSpec, draft: Draft, known: Mapping[str, Misconception], where: str) -> Step:
    if spec.key_ideas:
        return _self_check(spec, draft, where)
    if spec.name not in draft.asked:
        raise InvalidFamily(f"{where}: there is no step {spec.name!r}; the generator asks {', '.join(draft.asked)}.")
    asked = draft.asked[spec.name]
    if asked.kind is Kind.NUMBER and asked.tolerance is None and spec.tolerance == 0:
        raise InvalidFamily(f"{where}: step {spec.name!r} needs a tolerance, because people round.")
    step = Step(
        name=spec.name,
        kind=asked.kind,
        prompt=_fill(spec.prompt, draft, where),
        answer=asked.answer,
        points=spec.points,
        tolerance=_tolerance(spec, asked),
        wrong_tolerance=asked.wrong_tolerance,
        options=tuple(asked.options),
        hints=tuple(_fill(hint, draft, where) for hint in spec.hints),
        right=_fill(spec.right, draft, where),
        follow=asked.follow,
    )
    kept = _distinct(step, asked)
    feedback = {id_: _fill(text, draft, where) for id_, text in spec.feedback.items()}
    wrong = tuple(Wrong(value, id_, feedback.get(id_) or known[id_].says) for id_, value in kept)
    return replace(step, wrong=wrong)


def _tolerance(spec: StepSpec, asked: Asked) -> Fraction:
    if asked.kind is not Kind.NUMBER:
        return Fraction(0)
    return spec.tolerance if asked.tolerance is None else asked.tolerance


def _distinct(step: Step, asked: Asked) -> list[tuple[str, Answer]]:
    """The wrong answers that can be told from the right one and from each other.

    A number that cannot means that a known mistake would go unseen with these numbers: others are drawn, unless the
    generator is lenient. Where there are only a few possible answers, the likeliest mistake keeps each.
    """
    kept: list[tuple[str, Answer]] = []
    for id_, value in asked.wrong:
        if all(apart(step, value, other) for other in (step.answer, *(v for _id, v in kept))):
            kept.append((id_, value))
        elif step.kind is Kind.NUMBER and not asked.lenient:
            raise Redraw
    return kept


def _self_check(spec: StepSpec, draft: Draft, where: str) -> Step:
    ideas = tuple(Option(f"k{i}", _fill(idea, draft, where)) for i, idea in enumerate(spec.key_ideas, start=1))
    return Step(
        name=spec.name,
        kind=Kind.SELF_CHECK,
        prompt=_fill(spec.prompt, draft, where),
        points=0,
        hints=tuple(_fill(hint, draft, where) for hint in spec.hints),
        key_ideas=ideas,
        model_answer=_fill(spec.model_answer, draft, where),
    )
