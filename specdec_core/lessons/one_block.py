"""Lesson 2: a table of candidates as typed, checked and judged; n_a built up from its formula; examples.

A table is texts until it is judged. What is judged is a ``Case``, and all that is shown afterwards (strip, table,
sentence, exported file) comes from the one block that ``judge_case`` makes of it.

Does not know: streamlit, figures, files other than the examples.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from specdec_core.acceptance import Verdict, exactly
from specdec_core.cases import MAX_ROWS, Case, InvalidCase, Row, case_from_plain, check_row
from specdec_core.distributions import uniforms
from specdec_core.lessons.typed import read_probability, shortened, told_apart, written
from specdec_core.trace import Block, Position
from specdec_core.words import BOOK, Notation, _, ngettext

EXAMPLES = Path(__file__).resolve().parents[2] / "assets" / "lessons" / "one_block.json"
#: Up to this many candidates the strip shows all cards and can be stepped through.
MAX_CARDS = 24


@dataclass(frozen=True)
class TypedRow:
    """One line of the table as typed; "" where nothing is."""

    token: str = ""
    q: str = ""
    p: str = ""
    r: str = ""

    @property
    def empty(self) -> bool:
        return not (self.token or self.q.strip() or self.p.strip() or self.r.strip())


@dataclass(frozen=True)
class Table:
    """The typed lines, and the verified tokens before them."""

    rows: tuple[TypedRow, ...]
    context: tuple[str, ...] = ()


@dataclass(frozen=True)
class Example:
    """A ready block. title and why are in English; the screen translates them."""

    name: str
    title: str
    why: str
    case: Case


@lru_cache(maxsize=1)
def examples() -> tuple[Example, ...]:
    """The ready examples, in order; the first is the one that the lesson opens on."""
    plain = json.loads(EXAMPLES.read_text(encoding="utf-8"))
    return tuple(Example(x["name"], x["title"], x["why"], case_from_plain(x)) for x in plain)


def number_text(value: float) -> str:
    """A float as a person would type it, without loss."""
    return written(exactly(value), 400) if value < 1e-4 else repr(value).removesuffix(".0")


def table_of(case: Case) -> Table:
    """The case as typed lines."""
    return Table(tuple(TypedRow(x.token, *(number_text(v) for v in (x.q, x.p, x.r))) for x in case.rows), case.context)


@dataclass(frozen=True)
class Checked:
    """What a table came to. case is None while there are faults. notes: what is left out, and said."""

    case: Case | None
    faults: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def check_table(table: Table, n: Notation = BOOK) -> Checked:
    """The table as a case, or plain sentences on each faulty line. Nothing is repaired or scaled.

    Lines with nothing in them are left out, with a note: somebody is about to fill them.
    """
    rows: list[Row] = []
    faults: list[str] = []
    notes: list[str] = []
    t = 0
    for line, typed in enumerate(table.rows, start=1):
        if typed.empty:
            notes.append(_("Line {line} is empty and left out.").format(line=line))
            continue
        t += 1
        found, row = _check_line(line, t, typed, n)
        faults += found
        if row is not None:
            rows.append(row)
    if t == 0:
        faults.append(_("The table has no candidate yet: a block has at least one."))
    if t > MAX_ROWS:
        faults.append(_("The table has {n} lines; at most {most} can be judged.").format(n=t, most=MAX_ROWS))
    return Checked(None if faults else Case(tuple(rows), table.context), tuple(faults), tuple(notes))


def _check_line(line: int, t: int, typed: TypedRow, n: Notation) -> tuple[list[str], Row | None]:
    faults = []
    values = []
    where = _("Line {line}").format(line=line)
    if typed.token == "":
        faults.append(_("{where}: the token is blank. Type its text.").format(where=where))
    for symbol, text, drafted in ((n.q, typed.q, True), (n.p, typed.p, False), (n.r, typed.r, False)):
        value, problem = read_probability(text, symbol)
        if value is not None and exactly(float(value)) != value:
            problem = _("{name} = {typed} cannot be kept exactly. Write the digits that you mean, at most 15.").format(
                name=symbol, typed=shortened(text)
            )
        elif value == 0 and drafted:
            problem = _("{name} = 0, but a token with no chance cannot have been drafted.").format(name=symbol)
        if problem or value is None:
            faults.append(_("{where}: {problem}").format(where=where, problem=problem))
        else:
            values.append(float(value))
    if faults:
        return faults, None
    try:
        return [], check_row(t, typed.token, *values)
    except InvalidCase as error:
        return [_("{where}: {problem}").format(where=where, problem=str(error))], None


def with_draws(table: Table, seed: int) -> Table:
    """The table with a fresh r in every line that is not empty, of four decimals and never 0."""
    ticks = np.ceil(uniforms(np.random.default_rng(seed), len(table.rows)) * 10_000).astype(int)
    rows = tuple(
        x if x.empty else TypedRow(x.token, x.q, x.p, number_text(int(k) / 10_000))
        for x, k in zip(table.rows, ticks, strict=True)
    )
    return Table(rows, table.context)


# --- n_a, built up --------------------------------------------------------------------------------------------------


def in_set(x: Position) -> bool:
    """Whether r_t > p/q at this position. A token with p = 0 counts as above, whatever r is.

    Judged positions have their verdict; for those not reached the comparison is made here, as on paper.
    """
    if x.verdict is not Verdict.NOT_REACHED:
        return x.verdict is Verdict.REJECTED
    return x.p == 0 or exactly(x.r) * exactly(x.q) > exactly(x.p)


@dataclass(frozen=True)
class Membership:
    """One line of the build-up: the comparison at t, with numbers that show which is larger. above: None if unknown."""

    t: int
    r: str
    ratio: str
    above: bool | None


@dataclass(frozen=True)
class BuildUp:
    """How far n_a has been built: what is known of the set, and n_a once it is settled."""

    lines: tuple[Membership, ...]
    members: tuple[int, ...]
    settled: bool
    n_a: int | None


def build_up(block: Block, judged: int) -> BuildUp:
    """The formula's parts after ``judged`` positions have been judged; all comparisons once n_a is settled."""
    settled = judged >= block.judged
    lines = []
    for x in block.positions:
        known = settled or x.t <= judged
        r, bar = told_apart(exactly(x.r), exactly(x.p) / exactly(x.q), 3)
        lines.append(Membership(x.t, r, bar, in_set(x) if known else None))
    members = tuple(x.t for x in lines if x.above)
    return BuildUp(tuple(lines), members, settled, block.n_a if settled else None)


def set_tex(members: Sequence[int], complete: bool, longest: int = 12) -> str:
    """The set as TeX, its tail cut when it is long."""
    if not members:
        return r"\varnothing" if complete else r"\{\ \dots\}"
    inside = ", ".join(str(t) for t in members[:longest])
    if len(members) > longest or not complete:
        inside += r", \dots"
    return rf"\{{{inside}\}}"


def formula_tex(n: Notation) -> str:
    """n_a's definition in the letters in use, as TeX."""
    t = n.tex
    condition = rf"{t['r']} > \frac{{{t['p']}}}{{{t['q']}}}"
    if n.name == "leviathan":
        return rf"n = \min\big(\{{ i-1 : {condition} \}} \cup \{{ \gamma \}}\big)"
    return rf"{t['n_a']} = \min\Big\{{ {t['t']}-1 : {condition} \Big\}}"


def n_a_tex(built: BuildUp, tau: int, n: Notation) -> str:
    """The last line of the build-up, as TeX: the minimum, less one."""
    if built.n_a is None:
        return rf"{n.tex['n_a']} = \ ?"
    if not built.members:
        return rf"{n.tex['n_a']} = {n.tex['tau']} = {tau}"
    return rf"{n.tex['n_a']} = {built.members[0]} - 1 = {built.n_a}"


def n_a_words(built: BuildUp, block: Block, n: Notation) -> str:
    """What the build-up says, in plain sentences."""
    if not built.settled:
        return _("The set is filled from the left, one position at a time. The first that enters it decides.")
    if not built.members:
        return _(
            "No {r} is above its {p}/{q}: the set is empty and has no minimum."
            " Nothing fell, so {n_a} is {tau} = {value}."
        ).format(r=n.r, p=n.p, q=n.q, n_a=n.n_a, tau=n.tau, value=block.tau)
    first = built.members[0]
    text = _("The smallest is {first}: it is the first to fall, and the {n_a} = {kept} before it stay.").format(
        first=first, n_a=n.n_a, kept=block.n_a
    )
    after = block.tau - first
    if not after:
        return text
    tail = ngettext(
        "The candidate after it is not reached: in the set or not, it does not change the minimum.",
        "The {n} candidates after it are not reached: in the set or not, they do not change the minimum.",
        after,
    ).format(n=after)
    return f"{text} {tail}"


# --- Predictions ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Prediction:
    """One answered question of the walk: will position t pass?"""

    t: int
    said: bool
    right: bool


def predictions(block: Block, answers: str) -> tuple[Prediction, ...]:
    """The answers ("y" and "n", one per position from the first) against the block; those beyond its end drop out."""
    out = []
    for x, answer in zip(block.positions[: block.judged], answers, strict=False):
        said = answer == "y"
        out.append(Prediction(x.t, said, said == (x.verdict is Verdict.ACCEPTED)))
    return tuple(out)


def ask_words(x: Position, n: Notation) -> str:
    """The question of the walk, in a plain sentence, without the answer."""
    r, ratio = told_apart(exactly(x.r), exactly(x.p) / exactly(x.q), 3)
    return _("{r} = {r_value} was drawn, and {p}/{q} = {ratio}. Will t = {t} pass?").format(
        r=n.r, r_value=r, p=n.p, q=n.q, ratio=ratio, t=x.t
    )
