"""The start page: two sentences, one recorded real block, and where to go.

Does not know: models. Everything here was recorded.
"""

from dataclasses import dataclass

import streamlit as st

from specdec_core.models import recorded
from specdec_core.trace import Block, Trace
from specdec_core.ui.links import choice
from specdec_core.ui.pages import spec
from specdec_core.ui.replay import describe_models
from specdec_core.ui.shell import notation
from specdec_core.ui.stepper import step_fragment, stepper
from specdec_core.words import _


@dataclass(frozen=True)
class Example:
    """A recorded block, found by what happens in it."""

    name: str
    title: str
    trace: Trace
    index: int


def lead() -> None:
    """What this is."""
    st.markdown(
        _(
            "Speculative decoding makes a large language model faster: a small **draft** model guesses several tokens,"
            " and the large **target** model checks them all in one pass. Each guess faces a fresh random number, and"
            " **the text that results follows the target's distribution exactly**."
        )
    )


def examples() -> list[Example]:
    """One block per outcome from the recorded texts: falls in the middle, all stay, the first falls."""
    kinds = (
        ("middle", _("One falls in the middle"), lambda b: b.first_rejected is not None and b.n_a >= 2),
        ("all", _("All stay"), lambda b: b.first_rejected is None and b.next is not None),
        ("first", _("The first one falls"), lambda b: b.first_rejected == 1),
    )
    traces = [recorded.load(name) for name in recorded.names()]
    traces = [t for t in traces if t.settings.acceptance.exact and t.settings.temperature == 1 and t.settings.tau == 4]
    out = []
    for name, title, fits in kinds:
        found = next(((t, i) for t in traces for i, b in enumerate(t.blocks) if _full(b) and fits(b)), None)
        if found:
            out.append(Example(name, title, *found))
    return out


def _full(block: Block) -> bool:
    return block.tau == 4 and not block.ends


def real_block() -> None:
    """The recorded block, to be stepped through."""
    known = examples()
    if not known:
        st.info(_("No recorded texts are installed."))
        return
    chosen = choice(_("A real block, recorded"), {e.name: e.title for e in known}, "shown")
    example = next(e for e in known if e.name == chosen)
    block = example.trace.blocks[example.index]

    def body() -> None:
        stepper(
            example.trace.verified_before(example.index),
            block,
            example.trace.settings.acceptance,
            notation(),
            default=-1,
        )

    step_fragment(body)
    st.caption(
        _("Every number here decided. Press Start over, then Next, to see how. {models}").format(
            models=describe_models(example.trace)
        )
    )


def where_next() -> None:
    """Three ways on."""
    st.header(_("Where next"), anchor=False)
    ways = (
        ("one_token", _("Understand it by hand: five short lessons, from one token to why 0.5 would not do.")),
        ("live_models", _("Watch real models decide: your own prompt, every block step by step.")),
        ("bias_lab", _("See what a fixed threshold costs, exactly and on real text.")),
        ("exercises", _("Practise: exercises that grade themselves and name the mistake.")),
    )
    for column, (name, text) in zip(st.columns(len(ways)), ways, strict=True):
        page = spec(name)
        with column.container(border=True, height="stretch"):
            st.page_link(page.file, label=page.title, icon=page.icon)
            st.caption(text)
