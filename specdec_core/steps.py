"""A block as a sequence of steps: what is known, and what is said, at each of them.

The live page, the start page and the lessons move one cursor over ``steps(block)``; figures and strips show the block
as ``cards(block, cursor)`` sees it. Pure functions of a trace.

Does not know: streamlit, figures, who moves the cursor.
"""

from dataclasses import dataclass
from enum import StrEnum

from specdec_core.acceptance import Rule, Verdict
from specdec_core.numbers import compared, probability, ratio
from specdec_core.tokens import shown
from specdec_core.trace import Block, Position
from specdec_core.words import BOOK, Notation, _, ngettext


class Kind(StrEnum):
    """What happens in a step."""

    START = "start"
    DRAFT = "draft"
    VERIFY = "verify"
    JUDGE = "judge"
    NEXT = "next"
    COMMIT = "commit"


@dataclass(frozen=True)
class Step:
    """One step. ``t`` is the position it is about, None where it is about the whole block."""

    kind: Kind
    t: int | None = None


class State(StrEnum):
    """How a candidate's card looks at the cursor."""

    HIDDEN = "hidden"
    DRAFTED = "drafted"
    SCORED = "scored"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    NOT_REACHED = "not reached"


_OF_VERDICT = {
    Verdict.ACCEPTED: State.ACCEPTED,
    Verdict.REJECTED: State.REJECTED,
    Verdict.NOT_REACHED: State.NOT_REACHED,
}


@dataclass(frozen=True)
class Card:
    """A position as it is known at the cursor. ``active`` marks the one that the current step is about."""

    position: Position
    state: State
    active: bool
    first_rejected: bool

    @property
    def shows_p(self) -> bool:
        return self.state not in (State.HIDDEN, State.DRAFTED)

    @property
    def shows_r(self) -> bool:
        return self.state in (State.ACCEPTED, State.REJECTED)


def steps(block: Block) -> tuple[Step, ...]:
    """Start, draft 1..tau, one verification, judge up to the first rejection, the next token, commit."""
    out = [Step(Kind.START)]
    out += [Step(Kind.DRAFT, x.t) for x in block.positions]
    out.append(Step(Kind.VERIFY))
    out += [Step(Kind.JUDGE, t) for t in range(1, block.judged + 1)]
    if block.next is not None:
        out.append(Step(Kind.NEXT, block.next.t))
    out.append(Step(Kind.COMMIT))
    return tuple(out)


def cards(block: Block, cursor: int) -> tuple[Card, ...]:
    """Every position as it is known after step ``cursor`` (an index into ``steps(block)``, clipped to it)."""
    plan = steps(block)
    cursor = max(0, min(cursor, len(plan) - 1))
    done = plan[: cursor + 1]
    drafted = {s.t for s in done if s.kind is Kind.DRAFT}
    judged = {s.t for s in done if s.kind is Kind.JUDGE}
    verified = any(s.kind is Kind.VERIFY for s in done)
    fell = block.first_rejected is not None and block.first_rejected in judged
    now = plan[cursor]
    out = []
    for x in block.positions:
        if x.t in judged or (fell and x.verdict is Verdict.NOT_REACHED):
            state = _OF_VERDICT[x.verdict]
        elif verified:
            state = State.SCORED
        else:
            state = State.DRAFTED if x.t in drafted else State.HIDDEN
        active = now.kind in (Kind.DRAFT, Kind.JUDGE) and now.t == x.t
        out.append(Card(x, state, active, fell and x.t == block.first_rejected))
    return tuple(out)


def shows_next(block: Block, cursor: int) -> bool:
    """Whether the corrected or bonus token is known at the cursor."""
    return block.next is not None and any(s.kind is Kind.NEXT for s in steps(block)[: cursor + 1])


def n_a_known(block: Block, cursor: int) -> bool:
    """Whether the last judgement has been made, so that n_a is known."""
    done = steps(block)[: cursor + 1]
    return sum(s.kind is Kind.JUDGE for s in done) == block.judged and any(s.kind is Kind.VERIFY for s in done)


def step_label(step: Step, block: Block) -> str:
    """The step's name on a button or in a list."""
    match step.kind:
        case Kind.START:
            return _("Start")
        case Kind.DRAFT:
            return _("Draft {t}").format(t=step.t)
        case Kind.VERIFY:
            return _("Verify")
        case Kind.JUDGE:
            return _("Judge {t}").format(t=step.t)
        case Kind.NEXT:
            return _("Bonus") if block.next and block.next.source == "bonus" else _("Correct")
        case Kind.COMMIT:
            return _("Commit")


def sentence(block: Block, cursor: int, rule: Rule, notation: Notation = BOOK) -> str:
    """What happens at the cursor, in one or two sentences of plain text. Token texts in it are literal."""
    plan = steps(block)
    step = plan[max(0, min(cursor, len(plan) - 1))]
    match step.kind:
        case Kind.START:
            return ngettext(
                "The draft model is about to propose {n} candidate.",
                "The draft model is about to propose {n} candidates, one after the other.",
                block.tau,
            ).format(n=block.tau)
        case Kind.DRAFT:
            return _draft_sentence(block.positions[(step.t or 1) - 1], notation)
        case Kind.VERIFY:
            return ngettext(
                "One pass of the target scores the {n} candidate: {p} is known now.",
                "One pass of the target scores all {n} candidates at once, because they are already there.",
                block.tau,
            ).format(n=block.tau, p=notation.p)
        case Kind.JUDGE:
            return verdict_sentence(block.positions[(step.t or 1) - 1], rule, notation)
        case Kind.NEXT:
            return _next_sentence(block, notation)
        case Kind.COMMIT:
            return commit_sentence(block, notation)


def _draft_sentence(x: Position, notation: Notation) -> str:
    if x.t == 1:
        return _("The draft reads the verified tokens and draws “{token}”, to which it gives {q} = {value}.").format(
            token=shown(x.token.text), q=notation.q, value=probability(x.q)
        )
    return ngettext(
        "It reads the verified tokens and its own earlier candidate, and draws “{token}” with {q} = {value}.",
        "It reads the verified tokens and its own {n} earlier candidates, and draws “{token}” with {q} = {value}.",
        x.t - 1,
    ).format(n=x.t - 1, token=shown(x.token.text), q=notation.q, value=probability(x.q))


def verdict_sentence(x: Position, rule: Rule, notation: Notation = BOOK) -> str:
    """Why one judged candidate stays or falls, with the two numbers that were compared."""
    token = shown(x.token.text)
    names = {"token": token, "p": notation.p, "q": notation.q, "r": notation.r}
    if x.verdict is Verdict.NOT_REACHED:
        return _("“{token}” was scored too, but after a token that fell. Nobody judges it.").format(**names)
    if rule.name == "always":
        return _("This rule keeps every candidate: “{token}” stays.").format(**names)
    if rule.name == "never":
        return _("This rule throws every candidate away: “{token}” falls.").format(**names)
    if x.verdict is Verdict.ACCEPTED and x.ratio >= 1 and x.level <= 1:
        return _(
            "The target likes “{token}” at least as much as the draft does: {p}/{q} = {ratio}. It always stays."
        ).format(**names, ratio=ratio(x.ratio))
    if x.p == 0:
        return _("The target gives “{token}” no probability at all: {p} = 0. It can never stay.").format(**names)
    level, bar = compared(x.level, x.ratio)
    values = names | {"level": level, "ratio": bar, "threshold": _level_name(rule, notation)}
    if x.level == x.ratio:
        return _("{threshold} = {level} equals {p}/{q} = {ratio}, and a tie accepts: “{token}” stays.").format(**values)
    if x.verdict is Verdict.ACCEPTED:
        return _("{threshold} = {level} is not above {p}/{q} = {ratio}, so “{token}” stays.").format(**values)
    return _("{threshold} = {level} is above {p}/{q} = {ratio}, so “{token}” falls.").format(**values)


def _level_name(rule: Rule, notation: Notation) -> str:
    if rule.name == "random":
        return notation.r
    symbol = rule.spec.parameter.symbol if rule.spec.parameter else ""
    return f"{symbol}·{notation.r}" if rule.spec.uses_r else symbol


def _next_sentence(block: Block, notation: Notation) -> str:
    following = block.next
    assert following is not None
    names = {"p": notation.p, "q": notation.q, "t": following.t}
    if following.token is None:
        return _next_unknown(following.source).format(**names)
    names["token"] = shown(following.token.text)
    match following.source:
        case "bonus":
            return _("Nothing fell, so the target's own {p} at position {t} gives a bonus token: “{token}”.").format(
                **names
            )
        case "residual":
            return _(
                "At position {t} a new token is drawn from the residual, what {p} has more than {q}: “{token}”."
            ).format(**names)
        case "target":
            return _("At position {t} a token is drawn from {p} again: “{token}”. That is not exact.").format(**names)
        case _:
            return _("At position {t} the most likely token under {p} is taken: “{token}”. That is not exact.").format(
                **names
            )


def _next_unknown(source: str) -> str:
    """The sentence for a hand-made block, where nobody knows which token it will be."""
    return {
        "bonus": _("Nothing fell, so the target's own {p} at position {t} gives a bonus token."),
        "residual": _("At position {t} a new token is drawn from the residual, what {p} has more than {q}."),
        "target": _("At position {t} a token is drawn from {p} again. That is not exact."),
        "argmax": _("At position {t} the most likely token under {p} is taken. That is not exact."),
    }[source]


def tokens_given(block: Block) -> int:
    """How many tokens the block adds, the next one included where a hand-made block leaves open which it is."""
    unknown = block.next is not None and block.next.token is None
    return len(block.emitted) + unknown


def commit_sentence(block: Block, notation: Notation = BOOK) -> str:
    """What the block added to the text, and why that many."""
    emitted = tokens_given(block)
    text = ngettext(
        "{n_a} = {kept} of {tau}: one target pass gave {n} token.",
        "{n_a} = {kept} of {tau}: one target pass gave {n} tokens.",
        emitted,
    ).format(n_a=notation.n_a, kept=block.n_a, tau=block.tau, n=emitted)
    if block.ends == "end of text":
        return _("{text} The last one ends the text.").format(text=text)
    if block.ends:
        return _("{text} The text ends here: {why}.").format(text=text, why=_(block.ends))
    return text


def position_sentence(x: Position, first_rejected: bool, rule: Rule, notation: Notation = BOOK) -> str:
    """One card as a sentence: the text alternative of its picture."""
    head = _("Position {t}: “{token}”, {q} {q_value}, {p} {p_value}, {p}/{q} {ratio}, {r} {r_value}.").format(
        t=x.t,
        token=shown(x.token.text),
        q=notation.q,
        q_value=probability(x.q),
        p=notation.p,
        p_value=probability(x.p),
        ratio=ratio(x.ratio),
        r=notation.r,
        r_value=probability(x.r),
    )
    verdict = _("First rejected.") if first_rejected else verdict_word(x.verdict)
    return f"{head} {verdict}"


def verdict_word(verdict: Verdict) -> str:
    """The word on the screen for a verdict."""
    return {
        Verdict.ACCEPTED: _("accepted"),
        Verdict.REJECTED: _("rejected"),
        Verdict.NOT_REACHED: _("not reached"),
    }[verdict]
