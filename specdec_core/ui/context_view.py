"""The brackets over a token strip: what one position of a block is conditioned on.

Does not know: what is asked about it.
"""

from collections.abc import Callable, Sequence
from typing import Any

from specdec_core.figures.palette import DARK, LIGHT
from specdec_core.lessons.draft_context import Part, Situation, candidate_symbol, filled, part_label
from specdec_core.tokens import shown, visible
from specdec_core.ui.strip import component
from specdec_core.words import Notation, _

_VIEW = component("context_view", "context")


def groups(situation: Situation, t: int, notation: Notation) -> list[dict[str, Any]]:
    """The parts of the strip in order: seen ones, the position itself, later ones."""
    out = [_group(part, tokens, notation) for part, tokens in situation.seen(t)]
    if out and out[-1]["kind"] == Part.OWN.value:
        _name_candidates(out[-1], situation.candidates[: t - 1], 1)
    itself = _group(Part.ITSELF, situation.candidates[t - 1 : t], notation)
    itself["label"] = _("{symbol}, to be drawn").format(symbol=candidate_symbol(t, notation))
    _name_candidates(itself, situation.candidates[t - 1 : t], t)
    out.append(itself)
    if t < situation.tau:
        later = _group(Part.LATER, situation.candidates[t:], notation)
        _name_candidates(later, situation.candidates[t:], t + 1)
        out.append(later)
    return out


def _group(part: Part, tokens: Sequence[str], notation: Notation) -> dict[str, Any]:
    chips = [
        {"parts": [{"text": p.text, "mark": p.mark} for p in visible(token)], "t": None, "label": ""}
        for token in tokens
    ]
    return {"kind": part.value, "label": part_label(part, notation), "tokens": chips}


def _name_candidates(group: dict[str, Any], tokens: Sequence[str], first: int) -> None:
    """Candidates can be clicked: their t, and what a screen reader says."""
    for i, (chip, token) in enumerate(zip(group["tokens"], tokens, strict=True)):
        chip["t"] = first + i
        chip["label"] = _("Position {t}: “{token}”. Show what it sees.").format(t=first + i, token=shown(token))


def context_view(situation: Situation, t: int, notation: Notation, key: str, on_picked: Callable[[], None]) -> None:
    """The strip with its brackets. In ``on_picked`` the clicked t is ``st.session_state[key].picked``."""
    data = {"groups": groups(situation, t, notation), "filled": [], "light": LIGHT, "dark": DARK}
    _VIEW(data=data, key=key, on_picked_change=on_picked)


def filled_formula(situation: Situation, t: int, notation: Notation, key: str) -> None:
    """The formula with the current tokens in it."""
    data = {"groups": [], "filled": filled(situation, t, notation), "light": LIGHT, "dark": DARK}
    _VIEW(data=data, key=key, on_picked_change=lambda: None)
