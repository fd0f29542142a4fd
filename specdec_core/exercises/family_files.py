"""The question families' data files: read, checked, one clear sentence per fault.

A family is one JSON file under assets/questions/ (docs/exercises.md describes every field). It holds the texts, points,
hints and settings; the numbers come from a generator that it names.

Does not know: seeds, grading, what the generators do.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from specdec_core.exercises.generators import GENERATORS
from specdec_core.exercises.generators.base import Pools
from specdec_core.exercises.mistakes import IDS
from specdec_core.exercises.question import Thinking

FOLDER = Path(__file__).parents[2] / "assets" / "questions"
FORMAT = "specdec-question-family/1"
PLACE = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
#: Generators that need a real block, which only ``real_block.from_block`` can give them.
BLOCK_GENERATORS = frozenset({"real_token", "real_table", "real_seen", "real_counterfactual"})


class InvalidFamily(ValueError):
    """A family file cannot be used. ``str(error)`` is one sentence naming file, field and value."""


@dataclass(frozen=True)
class StepSpec:
    """A step's texts. ``feedback`` replaces the registry's sentence for a misconception."""

    name: str
    prompt: str
    points: int = 1
    tolerance: Fraction = Fraction(0)
    hints: tuple[str, ...] = ()
    right: str = ""
    feedback: Mapping[str, str] = field(default_factory=dict)
    key_ideas: tuple[str, ...] = ()
    model_answer: str = ""


@dataclass(frozen=True)
class LevelSpec:
    """One level of a family. ``stem`` and ``solution`` hold texts, and names of tables as {"table": name}."""

    level: int
    title: str
    thinking: Thinking
    topics: tuple[str, ...]
    generator: str
    settings: Mapping[str, Any]
    stem: tuple[str | Mapping[str, str], ...]
    steps: tuple[StepSpec, ...]
    solution: tuple[str | Mapping[str, str], ...]


@dataclass(frozen=True)
class FamilySpec:
    """A family: its name (that of its file), a title, one sentence, and its levels."""

    name: str
    title: str
    says: str
    order: int
    levels: tuple[LevelSpec, ...]

    @property
    def needs_block(self) -> bool:
        """Whether its questions are made from a real block rather than drawn."""
        return any(level.generator in BLOCK_GENERATORS for level in self.levels)

    def level(self, number: int) -> LevelSpec:
        """The level with this number. Raises ValueError."""
        for level in self.levels:
            if level.level == number:
                return level
        known = ", ".join(str(level.level) for level in self.levels)
        raise ValueError(f"level of {self.name} must be one of {known}, not {number}.")


def read_family(text: str, name: str) -> FamilySpec:
    """The family in JSON ``text``. Raises InvalidFamily."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise InvalidFamily(f"{name}: not JSON ({error}).") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InvalidFamily(f"{name}: the field 'format' must be {FORMAT!r}.")
    if data.get("family") != name or not _NAME.fullmatch(name):
        raise InvalidFamily(f"{name}: the field 'family' must be the file's name, not {data.get('family')!r}.")
    levels = _items(data, "levels", name, dict)
    if not levels:
        raise InvalidFamily(f"{name}: there must be at least one level.")
    read = tuple(_level(level, f"{name}, level {i}") for i, level in enumerate(levels, start=1))
    if [level.level for level in read] != list(range(1, len(read) + 1)):
        raise InvalidFamily(f"{name}: levels must be numbered 1, 2, 3 ... in order.")
    return FamilySpec(name, _text(data, "title", name), _text(data, "says", name), int(data.get("order", 99)), read)


def _level(data: Mapping[str, Any], where: str) -> LevelSpec:
    known = {"level", "title", "thinking", "topics", "generator", "settings", "stem", "steps", "solution"}
    _no_others(data, known, where)
    generator = _text(data, "generator", where)
    if generator not in GENERATORS and generator not in BLOCK_GENERATORS:
        raise InvalidFamily(f"{where}: there is no generator {generator!r}.")
    thinking = _text(data, "thinking", where)
    if thinking not in set(Thinking):
        raise InvalidFamily(f"{where}: thinking must be one of {', '.join(Thinking)}, not {thinking!r}.")
    topics = tuple(_items(data, "topics", where, str))
    if not topics:
        raise InvalidFamily(f"{where}: topics must name at least one topic.")
    settings = data.get("settings", {})
    if not isinstance(settings, dict):
        raise InvalidFamily(f"{where}: settings must be an object.")
    _check_statements(settings, where)
    steps = tuple(_step(step, f"{where}, step {i}") for i, step in enumerate(_items(data, "steps", where, dict), 1))
    if not steps or len({step.name for step in steps}) < len(steps):
        raise InvalidFamily(f"{where}: steps must be at least one, each with a name of its own.")
    level = data.get("level")
    if not isinstance(level, int):
        raise InvalidFamily(f"{where}: level must be a whole number, not {level!r}.")
    return LevelSpec(
        level=level,
        title=_text(data, "title", where),
        thinking=Thinking(thinking),
        topics=topics,
        generator=generator,
        settings=settings,
        stem=_parts(data, "stem", where),
        steps=steps,
        solution=_parts(data, "solution", where),
    )


def _step(data: Mapping[str, Any], where: str) -> StepSpec:
    known = {"name", "prompt", "points", "tolerance", "hints", "right", "feedback", "key_ideas", "model_answer"}
    _no_others(data, known, where)
    name, points = _text(data, "name", where), data.get("points", 1)
    if not _NAME.fullmatch(name):
        raise InvalidFamily(f"{where}: name must be of small letters, digits and underscores, not {name!r}.")
    if isinstance(points, bool) or not isinstance(points, int) or not 0 <= points <= 10:
        raise InvalidFamily(f"{where}: points must be a whole number from 0 to 10, not {points!r}.")
    feedback = data.get("feedback", {})
    unknown = next((id_ for id_ in feedback if id_ not in IDS), None)
    if unknown is not None:
        raise InvalidFamily(f"{where}: feedback names the unknown misconception {unknown!r}.")
    ideas = tuple(_items(data, "key_ideas", where, str)) if "key_ideas" in data else ()
    if ideas and not data.get("model_answer"):
        raise InvalidFamily(f"{where}: a step with key_ideas needs a model_answer.")
    try:
        tolerance = Fraction(str(data.get("tolerance", "0")))
    except (ValueError, ZeroDivisionError):
        raise InvalidFamily(f"{where}: tolerance must be a decimal as text, not {data['tolerance']!r}.") from None
    return StepSpec(
        name=name,
        prompt=_text(data, "prompt", where),
        points=points,
        tolerance=tolerance,
        hints=tuple(_items(data, "hints", where, str)) if "hints" in data else (),
        right=str(data.get("right", "")),
        feedback={str(k): str(v) for k, v in feedback.items()},
        key_ideas=ideas,
        model_answer=str(data.get("model_answer", "")),
    )


def _check_statements(settings: Mapping[str, Any], where: str) -> None:
    for i, statement in enumerate(settings.get("statements", []), start=1):
        if not isinstance(statement, dict) or not isinstance(statement.get("text"), str) or "true" not in statement:
            raise InvalidFamily(f"{where}: statement {i} must have a text and say whether it is true.")
        if not statement["true"] and statement.get("misconception") not in IDS:
            raise InvalidFamily(
                f"{where}: statement {i} is false and names the unknown misconception"
                f" {statement.get('misconception')!r}."
            )


def _text(data: Mapping[str, Any], name: str, where: str) -> str:
    value = data.get(name)
    if not isinstance(value, str) or not value:
        raise InvalidFamily(f"{where}: {name} must be a text, not {value!r}.")
    return value


def _items(data: Mapping[str, Any], name: str, where: str, kind: type) -> list[Any]:
    value = data.get(name)
    if not isinstance(value, list) or not all(isinstance(x, kind) for x in value):
        raise InvalidFamily(f"{where}: {name} must be a list of {'objects' if kind is dict else 'texts'}.")
    return value


def _parts(data: Mapping[str, Any], name: str, where: str) -> tuple[str | Mapping[str, str], ...]:
    value = data.get(name)
    if not isinstance(value, list) or not value:
        raise InvalidFamily(f"{where}: {name} must be a list of texts and tables.")
    for part in value:
        table = isinstance(part, dict) and set(part) == {"table"} and isinstance(part["table"], str)
        if not isinstance(part, str) and not table:
            raise InvalidFamily(f'{where}: {name} holds {part!r}; a part is a text or {{"table": name}}.')
    return tuple(value)


def _no_others(data: Mapping[str, Any], known: set[str], where: str) -> None:
    unknown = next((key for key in data if key not in known), None)
    if unknown is not None:
        raise InvalidFamily(f"{where}: there is no field {unknown!r}.")


@cache
def families() -> Mapping[str, FamilySpec]:
    """Every family by name, in the bank's order. Raises InvalidFamily for the first fault."""
    found = [read_family(path.read_text("utf-8"), path.stem) for path in sorted(FOLDER.glob("*.json"))]
    return {family.name: family for family in sorted(found, key=lambda family: (family.order, family.name))}


@cache
def pools() -> Pools:
    """The words that examples are made of, from shared/tokens.json."""
    data = json.loads((FOLDER / "shared" / "tokens.json").read_text("utf-8"))
    return Pools(
        tuple((tuple(s["context"]), tuple(s["continuation"])) for s in data["sentences"]),
        tuple(tuple(words) for words in data["vocabularies"]),
    )


def sentences() -> Iterator[str]:
    """Every sentence of the data files that a translation needs, each once."""
    seen: dict[str, None] = {}
    for family in families().values():
        seen |= dict.fromkeys((family.title, family.says))
        for level in family.levels:
            texts = [level.title, *level.topics, *(p for p in (*level.stem, *level.solution) if isinstance(p, str))]
            texts += [s["text"] for s in level.settings.get("statements", [])]
            for step in level.steps:
                texts += [step.prompt, *step.hints, step.right, *step.feedback.values(), *step.key_ideas]
                texts.append(step.model_answer)
            seen |= dict.fromkeys(text for text in texts if text)
    yield from seen
