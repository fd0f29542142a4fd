"""The token strip as plain data: what the component draws, what a text alternative says.

One function turns a block at a cursor into cards; the browser component only lays them out.

Does not know: streamlit, HTML, colours (they travel by name).
"""

from collections.abc import Sequence
from typing import Any

from specdec_core.acceptance import Rule
from specdec_core.numbers import probability, ratio
from specdec_core.steps import (
    Card,
    Kind,
    State,
    cards,
    commit_sentence,
    n_a_known,
    position_sentence,
    sentence,
    shows_next,
    steps,
    tokens_given,
)
from specdec_core.tokens import context, shown, visible
from specdec_core.trace import Block, Token
from specdec_core.words import BOOK, Notation, _, ngettext

_ICONS = {State.ACCEPTED: "✓", State.REJECTED: "✗", State.NOT_REACHED: "⊘"}


def strip_data(
    verified: Sequence[Token],
    block: Block,
    cursor: int,
    rule: Rule,
    notation: Notation = BOOK,
    selected: int | None = None,
    clickable: bool = False,
    say: bool = True,
) -> dict[str, Any]:
    """Everything the strip shows of ``block`` after step ``cursor``, as JSON-ready data.

    verified: the tokens before the block. selected: the t of a card to frame. Texts are literal, never markup.
    """
    shown_cards = [_card(c, rule, notation, selected) for c in cards(block, cursor)]
    if block.next is not None:
        shown_cards.append(_next_card(block, notation) if shows_next(block, cursor) else _next_place())
    now = steps(block)[max(0, min(cursor, len(steps(block)) - 1))]
    return {
        "context_label": _("verified"),
        "context": context(verified),
        "cards": shown_cards,
        "facts": _facts(block, cursor, notation),
        "say": sentence(block, cursor, rule, notation) if say else "",
        "tone": _tone(block, now.kind, now.t),
        "clickable": clickable,
    }


def _tone(block: Block, kind: Kind, t: int | None) -> str:
    if kind is Kind.JUDGE and t is not None:
        return "rejected" if t == block.first_rejected else "accepted"
    return {Kind.DRAFT: "q", Kind.VERIFY: "p", Kind.NEXT: "corrected", Kind.COMMIT: "ink"}.get(kind, "line")


def _card(card: Card, rule: Rule, notation: Notation, selected: int | None) -> dict[str, Any]:
    x, state = card.position, card.state
    hidden = state is State.HIDDEN
    rows: list[list[str]] = []
    if not hidden:
        rows.append([_("draft {q}").format(q=notation.q), probability(x.q), "q"])
    if card.shows_p:
        rows.append([_("target {p}").format(p=notation.p), probability(x.p), "p"])
        rows.append([f"{notation.p} / {notation.q}", ratio(x.ratio), ""])
    level = x.level if card.shows_r and rule.name not in ("always", "never") else None
    return {
        "t": x.t,
        "state": state.value.replace(" ", "_"),
        "head": f"t = {x.t}",
        "note": _("first rejected") if card.first_rejected else "",
        "token": None if hidden else [{"text": p.text, "mark": p.mark} for p in visible(x.token.text)],
        "bar": min(1.0, _bar(x.ratio, rule)) if card.shows_p else None,
        "level": level,
        "level_label": "" if level is None else f"{_level_symbol(rule, notation)} {probability(level)}",
        "numbers": rows,
        "verdict": _(state.value) if state in _ICONS else "",
        "icon": _ICONS.get(state, ""),
        "first": card.first_rejected,
        "active": card.active,
        "selected": selected == x.t,
        "label": _label(card, rule, notation),
    }


def _bar(value: float, rule: Rule) -> float:
    return 1.0 if rule.name == "always" else 0.0 if rule.name == "never" else value


def _level_symbol(rule: Rule, notation: Notation) -> str:
    if rule.spec.uses_r:
        return notation.r
    return rule.spec.parameter.symbol if rule.spec.parameter else ""


def _label(card: Card, rule: Rule, notation: Notation) -> str:
    x = card.position
    if card.state is State.HIDDEN:
        return _("Position {t}: not drafted yet.").format(t=x.t)
    if card.state is State.DRAFTED:
        return _("Position {t}: “{token}”, drafted with {q} {value}.").format(
            t=x.t, token=shown(x.token.text), q=notation.q, value=probability(x.q)
        )
    if card.state is State.SCORED:
        return _("Position {t}: “{token}”, {q} {q_value}, {p} {p_value}, {p}/{q} {ratio}, not judged yet.").format(
            t=x.t,
            token=shown(x.token.text),
            q=notation.q,
            q_value=probability(x.q),
            p=notation.p,
            p_value=probability(x.p),
            ratio=ratio(x.ratio),
        )
    return position_sentence(x, card.first_rejected, rule, notation)


def _next_place() -> dict[str, Any]:
    """Where the corrected or bonus token will stand, so that the cards keep their sizes."""
    return {
        "t": None,
        "state": "hidden",
        "head": _("then"),
        "note": "",
        "token": None,
        "bar": None,
        "level": None,
        "level_label": "",
        "numbers": [],
        "verdict": "",
        "icon": "",
        "first": False,
        "active": False,
        "selected": False,
        "label": _("The next token is not drawn yet."),
    }


def _next_card(block: Block, notation: Notation) -> dict[str, Any]:
    following = block.next
    assert following is not None
    bonus = following.source == "bonus"
    text = following.token.text if following.token else "?"
    if bonus:
        head = _("t = {t}, from {p}").format(t=following.t, p=notation.p)
    else:
        head = {
            "residual": _("drawn at t = {t} from the residual"),
            "target": _("drawn at t = {t} from {p}"),
            "argmax": _("most likely at t = {t} under {p}"),
        }[following.source].format(t=following.t, p=notation.p)
    word = _("bonus") if bonus else _("corrected")
    rows = [] if following.probability is None else [[_("its chance there"), probability(following.probability), ""]]
    return {
        "t": None,
        "state": "bonus" if bonus else "corrected",
        "head": head,
        "note": "",
        "token": [{"text": p.text, "mark": p.mark} for p in visible(text)] if following.token else None,
        "bar": None,
        "level": None,
        "level_label": "",
        "numbers": rows,
        "verdict": word,
        "icon": "+" if bonus else "↻",
        "first": False,
        "active": False,
        "selected": False,
        "label": _("Position {t}: “{token}”, {word}.").format(t=following.t, token=shown(text), word=word),
    }


def _facts(block: Block, cursor: int, notation: Notation) -> list[list[str]]:
    if not n_a_known(block, cursor):
        return []
    facts = [
        [f"{notation.n_a} = {block.n_a}", _("of {tau} = {value}").format(tau=notation.tau, value=block.tau)],
    ]
    if block.first_rejected is not None:
        facts.append([f"t = {block.first_rejected}", _("first rejected")])
    n = tokens_given(block)
    if block.next is None or shows_next(block, cursor):
        facts.append([f"{n}", ngettext("token from one target pass", "tokens from one target pass", n)])
    return facts


def strip_text(block: Block, rule: Rule, notation: Notation = BOOK) -> str:
    """The finished block in sentences: the strip's text alternative."""
    lines = [position_sentence(x, x.t == block.first_rejected, rule, notation) for x in block.positions]
    return "\n".join([*lines, commit_sentence(block, notation)])
