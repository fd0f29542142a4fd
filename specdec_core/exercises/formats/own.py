"""Our own JSON, both ways: question sets that teachers share, and questions as a database stores them.

What is read may come from anybody: sizes are bounded, every field is checked, the first fault is one clear sentence.
Numbers are texts ("0.75", "4/3"), so that nothing is rounded on the way.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from specdec_core.exercises.draws import MAX_SEED
from specdec_core.exercises.follow import FOLLOWS
from specdec_core.exercises.formats.reader import (
    InvalidQuestions,
    Reader,
    checked_block,
    checked_distributions,
)
from specdec_core.exercises.mistakes import IDS
from specdec_core.exercises.question import (
    NUMERIC,
    SETS,
    Answer,
    Follow,
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
from specdec_core.exercises.values import exact_text

FORMAT = "specdec-questions/1"
MAX_BYTES = 4_000_000
MAX_QUESTIONS = 200
MAX_STEPS = 12
MAX_OPTIONS = 24
MAX_RIGHT = 10
MAX_ROWS = 64

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_ID = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_SOURCE = re.compile(r"[0-9a-f]{0,16}")


@dataclass(frozen=True)
class QuestionSet:
    """A titled list of questions."""

    title: str
    questions: tuple[Question, ...]


def to_json(questions: Sequence[Question], title: str = "") -> str:
    """The questions as JSON text that ``from_json`` reads back unchanged."""
    plain = {"format": FORMAT, "title": title, "questions": [question_to_plain(q) for q in questions]}
    return json.dumps(plain, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def from_json(text: str | bytes) -> QuestionSet:
    """The question set in JSON ``text``. Raises InvalidQuestions."""
    if len(text) > MAX_BYTES:
        raise InvalidQuestions(f"The file is too big: {len(text):,} bytes, at most {MAX_BYTES:,}.")
    try:
        data = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise InvalidQuestions("The file is not JSON.") from None
    top = Reader(data, "the file")
    top.only({"format", "title", "questions"})
    if top.text("format", 60) != FORMAT:
        raise InvalidQuestions(f"The file's format is not {FORMAT!r}, so it is no question set of this version.")
    items = top.objects("questions", 1, MAX_QUESTIONS)
    return QuestionSet(top.text("title", 200, empty=True), tuple(_question(item) for item in items))


def _no_constant(name: str) -> float:
    raise ValueError(name)


# --- writing --------------------------------------------------------------------------------------------------------


def question_to_plain(question: Question) -> dict[str, Any]:
    """A question as what ``json`` writes."""
    return {
        "family": question.family,
        "level": question.level,
        "seed": question.seed,
        "source": question.source,
        "title": question.title,
        "thinking": question.thinking.value,
        "topics": list(question.topics),
        "stem": [_part_to_plain(part) for part in question.stem],
        "steps": [_step_to_plain(step) for step in question.steps],
        "solution": [_part_to_plain(part) for part in question.solution],
        "block": None if question.block is None else dict(question.block),
        "distributions": None if question.distributions is None else dict(question.distributions),
    }


def _part_to_plain(part: Part) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"text": part.text}
    return {"columns": list(part.columns), "rows": [list(row) for row in part.rows], "caption": part.caption}


def _step_to_plain(step: Step) -> dict[str, Any]:
    follow = step.follow and {
        "rule": step.follow.rule,
        "uses": list(step.follow.uses),
        "numbers": {name: exact_text(value) for name, value in step.follow.numbers.items()},
    }
    return {
        "name": step.name,
        "kind": step.kind.value,
        "prompt": step.prompt,
        "answer": _answer_to_plain(step.answer),
        "points": step.points,
        "tolerance": exact_text(step.tolerance),
        "wrong_tolerance": None if step.wrong_tolerance is None else exact_text(step.wrong_tolerance),
        "options": [_option_to_plain(option) for option in step.options],
        "wrong": [
            {"value": _answer_to_plain(w.value), "misconception": w.misconception, "feedback": w.feedback}
            for w in step.wrong
        ],
        "hints": list(step.hints),
        "right": step.right,
        "follow": follow,
        "key_ideas": [_option_to_plain(idea) for idea in step.key_ideas],
        "model_answer": step.model_answer,
    }


def _option_to_plain(option: Option) -> dict[str, str]:
    return {"id": option.id, "text": option.text}


def _answer_to_plain(answer: Answer) -> Any:
    if isinstance(answer, Fraction):
        return exact_text(answer)
    return list(answer) if isinstance(answer, tuple) else answer


# --- reading --------------------------------------------------------------------------------------------------------


def question_from_plain(data: Any, where: str = "the question") -> Question:
    """The question in what ``json`` read. Raises InvalidQuestions."""
    return _question(Reader(data, where))


def _question(r: Reader) -> Question:
    r.only(
        {"family", "level", "seed", "source", "title", "thinking", "topics"}
        | {"stem", "steps", "solution", "block", "distributions"}
    )
    steps = tuple(_step(item) for item in r.objects("steps", 1, MAX_STEPS))
    names = [step.name for step in steps]
    if len(set(names)) < len(names):
        raise InvalidQuestions(f"{r.where}: two steps have the same name.")
    for i, step in enumerate(steps):
        later = [name for name in (step.follow.uses if step.follow else ()) if name not in names[:i]]
        if later:
            raise InvalidQuestions(
                f"{r.where}: step {step.name!r} follows from {later[0]!r}, which is no earlier step."
            )
    return Question(
        family=r.matching("family", _NAME),
        level=r.whole("level", 1, 99),
        seed=r.whole("seed", 0, MAX_SEED),
        title=r.text("title", 200),
        thinking=Thinking(r.one_of("thinking", list(Thinking))),
        topics=r.texts("topics", 12, 60),
        stem=_parts(r, "stem"),
        steps=steps,
        solution=_parts(r, "solution"),
        block=checked_block(r.value("block"), f"{r.where}, block"),
        distributions=checked_distributions(r.value("distributions"), f"{r.where}, distributions"),
        source=r.matching("source", _SOURCE),
    )


def _parts(r: Reader, name: str) -> tuple[Part, ...]:
    return tuple(_part(item) for item in r.objects(name, 1, 40))


def _part(r: Reader) -> Part:
    if "text" in r.data:
        r.only({"text"})
        return Text(r.text("text", 4000, empty=True))
    r.only({"columns", "rows", "caption"})
    columns = r.texts("columns", 12, 200)
    rows = r.value("rows")
    if not columns or not isinstance(rows, list) or len(rows) > MAX_ROWS:
        raise InvalidQuestions(f"{r.where}: a table needs columns, and at most {MAX_ROWS} rows.")
    read = tuple(Reader({"row": row}, r.where).texts("row", 12, 400) for row in rows)
    if any(len(row) != len(columns) for row in read):
        raise InvalidQuestions(f"{r.where}: a table's row has not as many cells as there are columns.")
    return Table(columns, read, r.text("caption", 200, empty=True))


def _step(r: Reader) -> Step:
    r.only(
        {"name", "kind", "prompt", "answer", "points", "tolerance", "wrong_tolerance", "options", "wrong"}
        | {"hints", "right", "follow", "key_ideas", "model_answer"}
    )
    kind = Kind(r.one_of("kind", list(Kind)))
    options = _options(r, "options")
    bare = Step(
        name=r.matching("name", _NAME),
        kind=kind,
        prompt=r.text("prompt", 2000),
        answer=_answer(r, "answer", kind, options),
        points=r.whole("points", 0, 10),
        tolerance=r.fraction("tolerance"),
        wrong_tolerance=None if r.value("wrong_tolerance") is None else r.fraction("wrong_tolerance"),
        options=options,
        hints=r.texts("hints", 10, 1000),
        right=r.text("right", 1000, empty=True),
        follow=_follow(r),
        key_ideas=_options(r, "key_ideas"),
        model_answer=r.text("model_answer", 4000, empty=True),
    )
    return _with_wrong(r, bare)


def _with_wrong(r: Reader, step: Step) -> Step:
    wrong = tuple(_wrong(item, step) for item in r.objects("wrong", 0, 40))
    for i, one in enumerate(wrong):
        others = [step.answer, *(other.value for other in wrong[:i])]
        if not all(apart(step, one.value, other) for other in others):
            raise InvalidQuestions(f"{r.where}: wrong answer {i + 1} cannot be told from the right one or another one.")
    return replace(step, wrong=wrong)


def _wrong(r: Reader, step: Step) -> Wrong:
    r.only({"value", "misconception", "feedback"})
    return Wrong(
        _answer(r, "value", step.kind, step.options),
        r.one_of("misconception", IDS),
        r.text("feedback", 1000),
    )


def _options(r: Reader, name: str) -> tuple[Option, ...]:
    found = []
    for item in r.objects(name, 0, MAX_OPTIONS):
        item.only({"id", "text"})
        found.append(Option(item.matching("id", _ID), item.text("text", 1000)))
    if len({option.id for option in found}) < len(found):
        raise InvalidQuestions(f"{r.where}: two {name} have the same id.")
    return tuple(found)


def _answer(r: Reader, name: str, kind: Kind, options: Sequence[Option]) -> Answer:
    known = [option.id for option in options]
    if kind is Kind.SELF_CHECK:
        if r.value(name) is not None:
            raise InvalidQuestions(f"{r.where}: free text has no right answer.")
        return None
    if kind in NUMERIC:
        value = r.fraction(name, signed=True)
        if kind is Kind.INTEGER and value.denominator != 1:
            raise InvalidQuestions(f"{r.where}: {name} must be a whole number, not {exact_text(value)}.")
        return value
    if kind not in SETS:
        return r.one_of(name, known)
    marks = r.texts(name, MAX_RIGHT if name == "answer" else MAX_OPTIONS, 40)
    if not marks or any(mark not in known for mark in marks):
        raise InvalidQuestions(f"{r.where}: {name} must be a list of option ids.")
    return tuple(id_ for id_ in known if id_ in marks)


def _follow(r: Reader) -> Follow | None:
    data = r.value("follow")
    if data is None:
        return None
    f = Reader(data, f"{r.where}, follow")
    f.only({"rule", "uses", "numbers"})
    rule, given = f.one_of("rule", FOLLOWS), f.value("numbers")
    if not isinstance(given, Mapping) or len(given) > 8 or not all(_NAME.fullmatch(name) for name in given):
        raise InvalidQuestions(f"{f.where}: numbers must be a small object with plain names.")
    numbers = {name: Reader(given, f.where).fraction(name, signed=True) for name in given}
    missing = [name for name in FOLLOWS[rule][1] if name not in numbers]
    if missing:
        raise InvalidQuestions(f"{f.where}: the rule {rule!r} needs the number {missing[0]!r}.")
    if not 0 <= numbers.get("exponent", Fraction(0)) <= 64 or numbers.get("denominator") == 0:
        raise InvalidQuestions(f"{f.where}: a number of the rule {rule!r} is out of range.")
    uses = f.texts("uses", 8, 40)
    if not uses:
        raise InvalidQuestions(f"{f.where}: uses must name at least one earlier step.")
    return Follow(rule, uses, numbers)
