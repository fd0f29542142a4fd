"""The live page's controls: prompt and settings, every one of them in the address.

Does not know: how a text is made or shown.
"""

import random
from dataclasses import dataclass

import streamlit as st

from specdec_core.acceptance import CORRECTIONS, RULES
from specdec_core.models.pairs import describe
from specdec_core.trace import MAX_NEW_TOKENS, MAX_TAU, Settings
from specdec_core.ui.links import check_link, choice, number, whole, whole_field
from specdec_core.words import Notation, _

MAX_PROMPT = 2000
DEVICES = ("automatic", "cpu", "cuda", "mps")
DTYPES = ("automatic", "float32", "bfloat16", "float16")
DEFAULT_PROMPT = "Once upon a time, a small robot found"


@dataclass(frozen=True)
class LiveSettings:
    """What a run is asked for: the decoding's settings, and where the models shall compute."""

    settings: Settings
    device: str
    dtype: str

    @property
    def models(self) -> str:
        """The key by which the runner loads and shares a pair."""
        return "|".join((self.settings.pair, self.device, self.dtype))


def example_prompts() -> list[str]:
    """Prompts to begin with, of different kinds."""
    return [
        DEFAULT_PROMPT,
        "The capital of France is",
        "Dear Anna,\n\nThank you for",
        "def fibonacci(n):\n",
        "To bake bread you need:\n1.",
        "Why is the sky blue?",
    ]


def _check() -> None:
    check_link(
        prompt=lambda text: len(text) <= MAX_PROMPT,
        tau=whole(1, MAX_TAU),
        temperature=number(0, 2),
        top_k=whole(0, 200),
        top_p=number(0.01, 1),
        seed=whole(0, 2**32 - 1),
        tokens=whole(1, 256),
        c=number(0, 1),
    )


def _new_seed() -> None:
    st.session_state["seed"] = random.SystemRandom().randrange(100_000)


def prompt_field() -> None:
    """The prompt, in the address like everything else."""
    _check()
    st.text_area(_("Prompt"), DEFAULT_PROMPT, key="prompt", bind="query-params", max_chars=MAX_PROMPT, height=80)


def examples_menu() -> None:
    """Prompts to begin with."""
    with st.popover(_("Examples"), icon=":material/list:"):
        for i, text in enumerate(example_prompts()):
            st.button(text.split("\n")[0], key=f"example_{i}", on_click=_use_example, args=(text,), type="tertiary")


def _use_example(text: str) -> None:
    st.session_state["prompt"] = text


def controls(notation: Notation) -> LiveSettings | None:
    """Draw the settings; returns what they ask for, None where a value is missing (said beside the field)."""
    with st.popover(_("Settings"), icon=":material/tune:", width="content"):
        a, b = st.columns(2)
        with a:
            tau = st.slider(
                _("Candidates per block, {tau}").format(tau=notation.tau), 1, MAX_TAU, 4, key="tau", bind="query-params"
            )
            temperature = st.slider(_("Temperature"), 0.0, 2.0, 1.0, 0.05, key="temperature", bind="query-params")
            with st.container(horizontal=True, vertical_alignment="bottom"):
                seed = whole_field(_("Seed"), 0, 2**32 - 1, key="seed", width=150)
                st.button(_("New seed"), icon=":material/casino:", on_click=_new_seed, key="new_seed")
        with b:
            rule = _rule()
            parameter = _parameter(rule)
        more = _more()
    return _collect(tau, temperature, rule, seed, parameter, more)


def _rule() -> str:
    rule = choice(_("Rule"), {name: _(spec.title) for name, spec in RULES.items()}, "rule", menu=True)
    st.caption(_(RULES[rule].says))
    return rule


def _parameter(rule: str) -> float | None:
    known = RULES[rule].parameter
    if known is None:
        return None
    return st.slider(
        _("{name} {symbol}").format(name=_(known.name.capitalize()), symbol=known.symbol),
        known.low,
        known.high,
        known.default,
        0.05,
        key="c" if rule == "fixed" else known.symbol,
        bind="query-params",
    )


def _more() -> dict[str, object]:
    more: dict[str, object] = {}
    a, b = st.columns(2)
    with a:
        more["max_new_tokens"] = st.slider(_("Longest text, in tokens"), 1, 256, 48, key="tokens", bind="query-params")
        more["top_k"] = st.slider(_("Top-k (0: off)"), 0, 200, 0, key="top_k", bind="query-params")
    with b:
        titles = {name: _(spec.title) for name, spec in CORRECTIONS.items()}
        more["correction"] = choice(_("Correction"), titles, "correction", menu=True)
        more["top_p"] = st.slider(_("Top-p (1: off)"), 0.01, 1.0, 1.0, 0.01, key="top_p", bind="query-params")
    more["pair"] = choice(_("Models"), {p.name: p.title for p in describe()}, "pair", menu=True)
    a, b = st.columns(2)
    with a:
        more["device"] = choice(_("Device"), {name: _(name) for name in DEVICES}, "device", menu=True)
    with b:
        more["dtype"] = choice(_("Number format"), {name: _(name) for name in DTYPES}, "dtype", menu=True)
    return more


def _collect(
    tau: int, temperature: float, rule: str, seed: int | None, parameter: float | None, more: dict[str, object]
) -> LiveSettings | None:
    if seed is None:
        st.error(_("Seed is blank; it must be a whole number."))
        return None
    device, dtype = str(more.pop("device")), str(more.pop("dtype"))
    try:
        settings = Settings(
            prompt=str(st.session_state.get("prompt", "")),
            tau=tau,
            temperature=round(temperature, 4),
            rule=rule,
            parameter=parameter,
            seed=seed,
            **more,  # type: ignore[arg-type]
        )
    except ValueError as error:
        st.error(str(error))
        return None
    assert settings.max_new_tokens <= MAX_NEW_TOKENS
    return LiveSettings(settings, device, dtype)
