"""The words of the app, one line each, in the letters in use.

Does not know: which page asks.
"""

import streamlit as st

from specdec_core.words import Notation, _


def entries(n: Notation) -> list[tuple[str, str]]:
    """Terms and what they mean, in the order in which a block meets them."""
    t = n.tex
    return [
        (_("Draft model"), _("Small and quick. It proposes candidates, drawn from ${q}$.").format(**t)),
        (_("Target model"), _("Large. Its distribution ${p}$ is the one that the text must follow.").format(**t)),
        (_("Verified tokens"), _("The input and everything confirmed so far. Nobody questions them again.")),
        (_("Candidate ${candidate}$").format(**t), _("A token that the draft drew and the target has not judged yet.")),
        (_("Block, ${tau}$").format(**t), _("${tau}$ candidates, scored by the target in one pass.").format(**t)),
        (
            _("Ratio ${p}/{q}$").format(**t),
            _("How much likelier the token is for the target than for the draft. At 1 or more it always stays."),
        ),
        (
            _("Threshold ${r}$").format(**t),
            _("A number from $U(0,1)$, drawn anew for every candidate. Above ${p}/{q}$ rejects.").format(**t),
        ),
        (
            "${n_a}$".format(**t),
            _("How many candidates were accepted in a row before the first rejection; all of them if none fell."),
        ),
        (_("Not reached"), _("Candidates after the first rejection. They were scored, but nobody judges them.")),
        (
            _("Residual"),
            _("$\\max(0, {p} - {q})$, scaled to one. After a rejection the next token is drawn from it.").format(**t),
        ),
        (
            _("Bonus token"),
            _("Drawn from ${p}$ when no candidate fell: the pass had scored that position too.").format(**t),
        ),
        (
            _("Acceptance rate α"),
            _("$\\sum \\min({p}, {q})$, the chance that a candidate stays under the random rule.").format(**t),
        ),
        (
            _("Total variation"),
            _("Half the sum of all differences between two distributions: 0 when equal, 1 when disjoint."),
        ),
    ]


def show(n: Notation) -> None:
    """The glossary and where it all comes from."""
    st.markdown("\n\n".join(f"**{term}:** {meaning}" for term, meaning in entries(n)))
    st.caption(
        _(
            "Sources: Foundations of Large Language Models (Xiao and Zhu 2025), chapter 5; Leviathan, Kalman and Matias"
            " 2023, arXiv:2211.17192; Chen et al. 2023, arXiv:2302.01318."
        )
    )
