"""What was measured of texts under several rules: records, and the recorded ones that need no model.

Does not know: how texts are made (``texts`` does), models, the screen.
"""

import csv
import gzip
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from specdec_core.acceptance import Rule
from specdec_core.trace import Settings, to_plain

FOLDER = Path(__file__).resolve().parent.parent / "assets" / "texts"


class InvalidStudy(ValueError):
    """Recorded texts cannot be read. ``str(error)`` is one plain sentence."""


@dataclass(frozen=True)
class TextRecord:
    """One continuation and what was measured of it, per emitted token where a tuple.

    log_p: log-probability under the target, given the text before it, in nats (``-inf``: impossible there).
    bias: TV between the law this token was emitted from and p, given the text before it.
    """

    seed: int
    ids: tuple[int, ...]
    text: str
    log_p: tuple[float, ...]
    bias: tuple[float, ...]
    blocks: int
    drafted: int
    judged: int
    accepted: int


def parting(a: TextRecord, b: TextRecord) -> int | None:
    """The index of the first token at which two texts differ; None where they are the same."""
    for i, (x, y) in enumerate(zip(a.ids, b.ids, strict=False)):
        if x != y:
            return i
    return None if len(a.ids) == len(b.ids) else min(len(a.ids), len(b.ids))


@dataclass(frozen=True)
class Curve:
    """A statistic per position: ``value`` with its standard error ``error``, over ``n`` texts that reach it."""

    value: tuple[float, ...]
    error: tuple[float, ...]
    n: tuple[int, ...]


@dataclass(frozen=True)
class Estimate:
    """A mean over texts with its standard error."""

    value: float
    error: float


@dataclass(frozen=True)
class Likely:
    """A token that is likely at a position, averaged over the texts."""

    id: int
    text: str
    probability: float


@dataclass(frozen=True)
class RuleTexts:
    """All that was measured of one rule.

    log_p: mean log-likelihood per token under the target (impossible tokens left out, counted in ``impossible``).
    bias: mean TV between the law a token came from and p there. law_tv: TV between the estimated law of the k-th token
    and that under the first rule. likely: the most likely tokens per position. distinct_1, distinct_2: distinct tokens
    and pairs of neighbours over their number, per text; variety: the same for pairs over all texts together.
    repetition: share of tokens that occurred before in the same text.
    """

    rule: str
    parameter: float | None
    correction: str
    texts: tuple[TextRecord, ...]
    log_p: Curve
    bias: Curve
    law_tv: Curve
    likely: tuple[tuple[Likely, ...], ...]
    log_likelihood: Estimate
    distinct_1: Estimate
    distinct_2: Estimate
    repetition: Estimate
    variety: float
    acceptance: Estimate
    tokens_per_block: Estimate
    impossible: int
    ended: int

    @property
    def acceptance_rule(self) -> Rule:
        """The rule the texts were made with."""
        return Rule(self.rule, self.parameter, self.correction)


@dataclass(frozen=True)
class TextStudy:
    """The same prompt continued under several rules, the same seeds for all. The first rule is the reference.

    floor: per position, the TV that two samples of this size of the *same* law would show by chance; an upper bound,
    because the rules share their seeds.
    """

    settings: Settings
    rules: tuple[RuleTexts, ...]
    floor: tuple[float, ...]
    draft: str = ""
    target: str = ""


def study_csv(study: TextStudy) -> str:
    """The study as CSV, one row per rule and position."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = ("log_p", "bias", "law_tv")
    writer.writerow(
        ["rule", "parameter", "correction", "position", "texts", "noise"]
        + [name for column in columns for name in (column, f"{column}_error")]
    )
    for x in study.rules:
        number = "" if x.parameter is None else x.parameter
        for k, floor in enumerate(study.floor):
            values = [v for column in columns for v in (getattr(x, column).value[k], getattr(x, column).error[k])]
            writer.writerow([x.rule, number, x.correction, k + 1, x.law_tv.n[k], floor, *values])
    return out.getvalue()


# --- recorded studies ------------------------------------------------------------------------------------------------


def names() -> list[str]:
    """The recorded studies that are there, in the order of their names."""
    return sorted(path.name.removesuffix(".json.gz") for path in FOLDER.glob("*.json.gz"))


@lru_cache(maxsize=4)
def load(name: str) -> TextStudy:
    """A recorded study; frozen, so all visitors share one. Raises InvalidStudy for an unknown or damaged one."""
    if name not in names():
        raise InvalidStudy(f"There are no recorded texts named {name[:40]!r}.")
    try:
        return study_from_bytes((FOLDER / f"{name}.json.gz").read_bytes())
    except (OSError, ValueError, TypeError, KeyError, EOFError) as error:
        raise InvalidStudy(f"The recorded texts {name!r} cannot be read: get the repository again.") from error


def study_to_bytes(study: TextStudy) -> bytes:
    """The study as packed JSON, numbers to six digits; the same bytes for the same study."""
    text = json.dumps(_short(to_plain(study)), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return gzip.compress(text.encode(), compresslevel=9, mtime=0)


def _short(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, list):
        return [_short(x) for x in value]
    if isinstance(value, dict):
        return {k: _short(v) for k, v in value.items()}
    return value


def study_from_bytes(packed: bytes) -> TextStudy:
    """What ``study_to_bytes`` wrote; a file of this repository, so trusted. Raises what its parts raise."""
    data = json.loads(gzip.decompress(packed))
    rules = tuple(_rule(row) for row in data["rules"])
    rest = {k: data[k] for k in ("draft", "target")}
    return TextStudy(Settings(**data["settings"]), rules, _floats(data["floor"]), **rest)


def _rule(row: Mapping[str, Any]) -> RuleTexts:
    made = dict(row)
    made["texts"] = tuple(_record(x) for x in row["texts"])
    made["likely"] = tuple(tuple(Likely(**x) for x in position) for position in row["likely"])
    for field in fields(RuleTexts):
        if field.type is Curve:
            x = row[field.name]
            made[field.name] = Curve(_floats(x["value"]), _floats(x["error"]), tuple(x["n"]))
        elif field.type is Estimate:
            made[field.name] = Estimate(**row[field.name])
    return RuleTexts(**made)


def _record(row: Mapping[str, Any]) -> TextRecord:
    lists = {"ids": tuple(row["ids"]), "log_p": _floats(row["log_p"]), "bias": _floats(row["bias"])}
    return TextRecord(**(dict(row) | lists))


def _floats(values: list[Any]) -> tuple[float, ...]:
    return tuple(float(x) for x in values)  # "-inf" is a number here
