"""The end of the bias lab: what a biased rule buys, the closing sentence, and everything as files.

Does not know: where p and q come from.
"""

import json
from collections.abc import Sequence

import streamlit as st

from specdec_core.acceptance import RANDOM, Rule
from specdec_core.bias import UNCHANGED, Trade, closing, law_csv, rule_label
from specdec_core.figures.trade import trade_map, trade_text
from specdec_core.simulation import history_csv
from specdec_core.trace import to_plain
from specdec_core.ui import bias_place
from specdec_core.ui.bias_place import Place
from specdec_core.ui.bias_trials import Run, latest
from specdec_core.ui.charts import chart
from specdec_core.ui.shell import notation, theme
from specdec_core.words import _


def show_trade(place: Place, rules: tuple[Rule, ...], tau: int) -> tuple[Trade, ...]:
    """Bias against tokens per block. Returns the points."""
    points = bias_place.trades(place, rules, tau)
    swept = {(x.name, x.correction) for x in rules if x.spec.parameter is not None}
    curves = [bias_place.swept(place, name, correction) for name, correction in sorted(swept)][:3]
    chart(trade_map(points, theme(), curves, notation(), place.alpha), "lab_trade", trade_text(points))
    return points


def conclusion(place: Place, rules: tuple[Rule, ...], tau: int) -> list[str]:
    """The closing sentences, filled in with the numbers just seen; true for every place, rule and number."""
    n = notation()
    exact, chosen = bias_place.trades(place, [RANDOM, _telling(place, rules)], tau)
    found = bias_place.comparison(place, [chosen.rule])
    out = [closing(found, 0, n)]
    if chosen.rule == RANDOM:
        out.append(
            _("That is no accident of these numbers: it holds for every {p} and every {q}.").format(p=n.p, q=n.q)
        )
        return out
    words = {
        "fast": f"{chosen.tokens:.2f}",
        "slow": f"{exact.tokens:.2f}",
        "percent": f"{abs(chosen.tokens / exact.tokens - 1):.0%}",
        "tau": n.tau,
        "value": tau,
        "a": f"{exact.acceptance:.3f}",
    }
    if abs(chosen.tokens - exact.tokens) < 0.005:
        text = _(
            "The random rule accepts {a} and is as fast: {slow} tokens per block at {tau} = {value}, with no bias."
        )
    elif chosen.tokens > exact.tokens:
        text = _(
            "The random rule accepts {a}, with no bias at all. What the other one buys is speed: {fast} instead of"
            " {slow} tokens per block at {tau} = {value}, {percent} more."
        )
    else:
        text = _(
            "The random rule accepts {a}, with no bias at all, and is even faster: {slow} instead of {fast} tokens per"
            " block at {tau} = {value}."
        )
    out.append(text.format(**words))
    if chosen.tv >= UNCHANGED:
        out.append(_("A random number costs nothing. It is what keeps the text the target's own."))
    else:
        out.append(_("At the next place that may be different; the random rule is exact at every one, unseen."))
    return out


def _telling(place: Place, rules: Sequence[Rule]) -> Rule:
    """The rule to close with: the fixed threshold if it is compared, else the most biased one, else the random one."""
    fixed = [x for x in rules if x.name == "fixed"]
    biased = sorted((x for x in rules if not x.exact), key=lambda x: -bias_place.law(place, x).tv)
    return (fixed or biased or [RANDOM])[0]


def downloads(place: Place, rules: tuple[Rule, ...], tau: int) -> None:
    """Everything as files. They are made when they are asked for."""
    box = latest()
    files = (
        (_("Laws (CSV)"), lambda: laws_csv(place, rules), "laws.csv", "text/csv"),
        (_("Sweep (CSV)"), lambda: sweep_csv(place, rules), "sweep.csv", "text/csv"),
        (_("Simulation (CSV)"), lambda: trials_csv(box.get("run")), "trials.csv", "text/csv"),
        (
            _("Everything here (JSON)"),
            lambda: as_json(place, rules, tau, box.get("run")),
            "bias_lab.json",
            "application/json",
        ),
    )
    with st.container(horizontal=True):
        for i, (label, data, name, kind) in enumerate(files):
            st.download_button(
                label,
                data,
                name,
                kind,
                key=f"lab_file_{i}",
                icon=":material/download:",
                type="tertiary",
                on_click="ignore",
            )
    st.caption(
        _(
            "Figures are saved as SVG with the camera above each of them. The address of this page is a link to exactly"
            " this view."
        )
    )


def laws_csv(place: Place, rules: tuple[Rule, ...]) -> str:
    """The thousand most likely tokens with p, q and each rule's law, all others in the last row."""
    found = bias_place.comparison(place, rules, 1000)
    return law_csv(found, place.labels(found.tokens.tolist()))


def sweep_csv(place: Place, rules: tuple[Rule, ...]) -> str:
    """Every sweep there is of the rules compared, one row per value."""
    lines = ["rule,correction,value,acceptance,tv"]
    for name, correction in dict.fromkeys((x.name, x.correction) for x in rules if x.spec.parameter is not None):
        line = bias_place.swept(place, name, correction)
        for x, a, tv in zip(line.values, line.acceptance, line.tv, strict=True):
            lines.append(f"{name},{correction},{x:.6g},{a:.12g},{tv:.12g}")
    return "\n".join(lines) + "\n"


def trials_csv(run: Run | None) -> str:
    """The simulation's measures at every checkpoint."""
    return "" if run is None or run.last is None else history_csv(run.result(run.n))


def as_json(place: Place, rules: tuple[Rule, ...], tau: int, run: Run | None = None) -> str:
    """The place, the laws' numbers, the trade and the last measures of the simulation."""
    found = bias_place.comparison(place, rules, 1000)
    laws = [
        {
            "rule": {"name": rule.name, "parameter": rule.parameter, "correction": rule.correction},
            "label": rule_label(rule),
            "exact": rule.exact,
            "acceptance": law.acceptance,
            "tv": law.tv,
            "kl_output_target": law.kl_output_target,
            "kl_target_output": law.kl_target_output,
            "output": out.tolist(),
        }
        for rule, law, out in zip(rules, found.laws, found.outputs, strict=True)
    ]
    points = bias_place.trades(place, rules, tau)
    data = {
        "place": place.key,
        "alpha": place.alpha,
        "tokens": place.labels(found.tokens.tolist()),
        "others": found.others,
        "p": found.p.tolist(),
        "q": found.q.tolist(),
        "laws": laws,
        "tau": tau,
        "trade": [{"rule": rule_label(x.rule), "tokens_per_block": x.tokens, "tv": x.tv} for x in points],
        "simulation": None if run is None or run.last is None else _simulation(run),
    }
    return json.dumps(to_plain(data), ensure_ascii=False, indent=1)


def _simulation(run: Run) -> dict[str, object]:
    assert run.last is not None
    measures = [
        {"rule": rule_label(rule), "acceptance": m.acceptance, "tv_target": m.tv_target, "tv_law": m.tv_law}
        for rule, m in zip(run.rules, run.last.measures, strict=True)
    ]
    return {"seed": run.seed, "trials": run.n, "measures": measures}
