"""The bias lab on whole texts: what was measured of them, as curves, as a table, and two texts side by side.

Does not know: how texts are made, the place and the rules above on the page.
"""

import streamlit as st

from specdec_core.bias import rule_label
from specdec_core.figures.convergence import text_curves, text_curves_text
from specdec_core.textstudy import (
    Estimate,
    InvalidStudy,
    RuleTexts,
    TextRecord,
    TextStudy,
    load,
    names,
    parting,
    study_csv,
)
from specdec_core.ui.charts import chart
from specdec_core.ui.links import choice, whole_field
from specdec_core.ui.literal import literal
from specdec_core.ui.shell import notation, theme
from specdec_core.words import _, ngettext

#: With fewer texts per rule, error bars and noise are too rough for a verdict.
ENOUGH = 40


def recorded_study() -> TextStudy | None:
    """A recorded study, chosen by its prompt; None, with a word, where there is none."""
    known = names()
    if not known:
        st.info(_("No recorded texts are installed here. The models, where they are installed, can make some now."))
        return None
    try:
        titles = {name: _short(load(name).settings.prompt) for name in known}
        name = choice(_("Prompt"), titles, "lab_study", menu=True) if len(known) > 1 else known[0]
        return load(name)
    except InvalidStudy as error:
        st.error(literal(str(error)), icon=":material/error:")
        return None


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:79] + "…"


def show_study(study: TextStudy, key: str) -> None:
    """All that was measured, top to bottom: the bias by position, the table, two texts."""
    st.markdown(literal(_what_it_is(study)))
    _curves(study, key)
    _table(study)
    st.markdown(literal(study_words(study)))
    st.download_button(
        _("These measures as CSV"),
        lambda: study_csv(study),
        "texts.csv",
        "text/csv",
        key=f"{key}_csv",
        icon=":material/download:",
        type="tertiary",
        on_click="ignore",
    )
    _side_by_side(study, key)


def _what_it_is(study: TextStudy) -> str:
    s = study.settings
    n = len(study.rules[0].texts)
    return ngettext(
        "“{prompt}”, continued {n} time under each rule, {tokens} tokens each, {tau} = {value}, same seeds for all.",
        "“{prompt}”, continued {n} times under each rule, {tokens} tokens each, {tau} = {value}, same seeds for all.",
        n,
    ).format(prompt=s.prompt, n=n, tokens=s.max_new_tokens, tau=notation().tau, value=s.tau)


def _curves(study: TextStudy, key: str) -> None:
    titles = {
        "law_tv": _("How far the text has drifted"),
        "bias": _("The push at each step"),
        "log_p": _("How well the target likes it"),
    }
    what = choice(_("Shown"), titles, "lab_what", label_visibility="collapsed")
    chart(text_curves(study, what, theme(), notation()), f"{key}_{what}", text_curves_text(study, what))
    says = {
        "law_tv": _(
            "For each position the law of the token there, averaged over the texts, against the same under the exact"
            " rule. The first is exact; later ones are estimates with standard errors. The grey area is what chance"
            " alone would show: only what rises above it is bias."
        ),
        "bias": _(
            "How far the law of the next token is from the target's, given the text so far: the mean over the texts."
            " It is exactly 0 for an exact rule, and for a bonus token."
        ),
        "log_p": _(
            "The mean log-probability that the target gives to the emitted tokens. Higher is not better: the exact"
            " rule's level is the target's own; a text far above it is duller than the target meant, one far below"
            " is stranger."
        ),
    }
    st.caption(says[what])


def _table(study: TextStudy) -> None:
    rules = study.rules
    table = {
        _("rule"): [literal(rule_label(x.acceptance_rule)) for x in rules],
        _("log-likelihood per token"): [_estimate(x.log_likelihood, 2) for x in rules],
        _("distinct tokens in a text"): [_estimate(x.distinct_1, 3) for x in rules],
        _("distinct pairs in a text"): [_estimate(x.distinct_2, 3) for x in rules],
        _("repeated tokens"): [_estimate(x.repetition, 3) for x in rules],
        _("distinct pairs over all texts"): [f"{x.variety:.3f}" for x in rules],
        _("accepted"): [_estimate(x.acceptance, 3) for x in rules],
        _("tokens per block"): [_estimate(x.tokens_per_block, 2) for x in rules],
        _("impossible tokens"): [f"{x.impossible:,}" for x in rules],
    }
    alt = _("Per rule: log-likelihood under the target, diversity, repetition, acceptance, tokens per block")
    st.table(table, hide_index=True, alt=alt)
    st.caption(_("± is one standard error over the texts. Log-likelihood in nats, under the target."))


def _estimate(x: Estimate, digits: int) -> str:
    return f"{x.value:.{digits}f} ± {x.error:.{digits}f}"


def worst(study: TextStudy) -> RuleTexts | None:
    """The rule whose texts have drifted most at the last position, None where all are exact."""
    biased = [x for x in study.rules[1:] if not x.acceptance_rule.exact and x.law_tv.value]
    return max(biased, key=lambda x: x.law_tv.value[-1]) if biased else None


def study_words(study: TextStudy) -> str:
    """What the study says, in one or two sentences; true for every study."""
    found = worst(study)
    if found is None:
        return _("All rules compared here are exact: whatever differs between their texts is chance.")
    words = {
        "rule": rule_label(found.acceptance_rule),
        "tv": f"{found.law_tv.value[-1]:.2f}",
        "error": f"{found.law_tv.error[-1]:.2f}",
        "noise": f"{study.floor[-1]:.2f}",
        "k": len(study.floor),
    }
    if len(found.texts) < ENOUGH:
        return _(
            "At token {k} the law under “{rule}” lies {tv} ± {error} away from the exact rule's. With {n} texts per"
            " rule the error bars themselves are rough; read little into later positions."
        ).format(**words, n=len(found.texts))
    if found.law_tv.value[-1] - 2 * found.law_tv.error[-1] > study.floor[-1]:
        return _(
            "At token {k} the law under “{rule}” lies {tv} ± {error} away from the exact rule's; chance alone would"
            " show at most about {noise}. The bias of single steps has travelled through the text."
        ).format(**words)
    return _(
        "At token {k} the law under “{rule}” lies {tv} ± {error} away from the exact rule's, and chance alone would"
        " show up to about {noise}: so many texts are too few to tell them apart there."
    ).format(**words)


# --- two texts ------------------------------------------------------------------------------------------------------


def _side_by_side(study: TextStudy, key: str) -> None:
    st.markdown(f"**{_('Two texts, the same seed')}**")
    titles = {str(i): rule_label(x.acceptance_rule) for i, x in enumerate(study.rules)}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        other = choice(_("Compare the exact rule with"), dict(list(titles.items())[1:]), f"{key}_other", menu=True)
        last = min(len(study.rules[0].texts), len(study.rules[int(other)].texts))
        number = whole_field(_("Text, of {n}").format(n=last), 1, last, key=f"{key}_text", width=140)
    a, b = study.rules[0].texts[number - 1], study.rules[int(other)].texts[number - 1]
    st.markdown(literal(_parting_words(a, b)))
    common = _common(a, b)
    for column, title, text in zip(st.columns(2), (titles["0"], titles[other]), (a, b), strict=True):
        with column.container(border=True, height="stretch"):
            st.markdown(f"**{literal(title)}**")
            st.markdown(_marked(study.settings.prompt, text.text, common))
            st.caption(
                _("Log-likelihood per token {x} nats.").format(x=f"{sum(text.log_p) / max(1, len(text.log_p)):.2f}")
            )


def _parting_words(a: TextRecord, b: TextRecord) -> str:
    k = parting(a, b)
    if k is None:
        return _("These two are the same, token for token: nowhere did the rules decide differently.")
    return _("They first part ways at token {k}; up to there the same draws led to the same tokens.").format(k=k + 1)


def _common(a: TextRecord, b: TextRecord) -> int:
    """How many characters both texts share, cut back to the end of a word."""
    if a.ids == b.ids:
        return len(a.text)
    pairs = zip(a.text, b.text, strict=False)
    same = next((i for i, (x, y) in enumerate(pairs) if x != y), min(len(a.text), len(b.text)))
    while 0 < same < min(len(a.text), len(b.text)) and a.text[same - 1].isalnum():
        same -= 1
    return same


def _marked(prompt: str, text: str, common: int) -> str:
    """Markdown: the prompt in grey, what both share, and what is this text's own on a tint."""
    own = text[common:].strip()
    parts = [
        f":gray[{literal(prompt)}]",
        literal(text[:common]).strip(),
        f":orange-background[{literal(own)}]" if own else "",
    ]
    return " ".join(part for part in parts if part)
