"""The text so far on the screen: which tokens were accepted, corrected, or a bonus; a click picks a block.

Does not know: where the trace comes from.
"""

from collections.abc import Callable, Sequence
from typing import Any

from specdec_core.figures.palette import DARK, LIGHT
from specdec_core.trace import Block, Token
from specdec_core.ui.strip import component
from specdec_core.words import _

_FLOW = component("text_flow", "text_flow")


def text_flow(
    prompt: Sequence[Token],
    blocks: Sequence[Block],
    key: str,
    selected: int | None = None,
    on_picked: Callable[[], None] | None = None,
) -> None:
    """Draw prompt and blocks. In ``on_picked`` the index of the clicked block is ``st.session_state[key].picked``."""
    data: dict[str, Any] = {
        "prompt": "".join(t.text for t in prompt),
        "blocks": [_block(b, b.index == selected) for b in blocks],
        "clickable": on_picked is not None,
        "legend": [["accepted", _("accepted")], ["corrected", _("corrected")], ["bonus", _("bonus")]],
        "light": LIGHT,
        "dark": DARK,
    }
    _FLOW(data=data, key=key, on_picked_change=on_picked or (lambda: None))


def _block(block: Block, selected: bool) -> dict[str, Any]:
    kinds = ["accepted"] * block.n_a
    if block.next is not None:
        kinds.append("bonus" if block.next.source == "bonus" else "corrected")
    label = _("Block {index}: {kept} of {tau} accepted").format(index=block.index + 1, kept=block.n_a, tau=block.tau)
    return {
        "index": block.index,
        "selected": selected,
        "label": label,
        "tokens": [{"text": t.text, "kind": k} for t, k in zip(block.emitted, kinds, strict=True)],
    }
