"""The one catalogue of sentences on the screen, and the symbols that stand in them.

English is the source; ``locale/<language>/LC_MESSAGES/specdec.po`` beside this file holds translations. A sentence is
translated whole: numbers and symbols go into named places (``_("... {q} ...").format(...)``).

Does not know: streamlit, which person is looking (the screen sets the language per run through ``use_language``).
"""

import gettext as _gettext
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path

LOCALE = Path(__file__).parent / "locale"
LANGUAGES = {"en": "English"} | {
    folder.name: name for folder, name in ((LOCALE / "zh", "中文"),) if (folder / "LC_MESSAGES" / "specdec.mo").exists()
}

_language: ContextVar[str] = ContextVar("language", default="en")


@cache
def _catalogue(language: str) -> _gettext.NullTranslations:
    return _gettext.translation("specdec", LOCALE, languages=[language], fallback=True)


def use_language(language: str) -> None:
    """Sentences asked for from here on, in this context, are in ``language``; unknown languages give English."""
    _language.set(language if language in LANGUAGES else "en")


def language() -> str:
    """The language in use in this context."""
    return _language.get()


def _(sentence: str) -> str:
    """``sentence`` in the language in use."""
    return _catalogue(_language.get()).gettext(sentence)


def ngettext(one: str, many: str, n: int) -> str:
    """``one`` or ``many``, as ``n`` and the language in use ask for."""
    return _catalogue(_language.get()).ngettext(one, many, n)


@dataclass(frozen=True)
class Notation:
    """The letters of one publication. The code has only ours; this is for the screen.

    Plain fields are Unicode for chips, tables and figures; ``tex`` maps the same names to TeX without dollar signs.
    """

    name: str
    title: str
    q: str
    p: str
    tau: str
    r: str
    n_a: str
    candidate: str
    tex: dict[str, str]


NOTATIONS: dict[str, Notation] = {
    "book": Notation(
        "book",
        "Book (Xiao and Zhu)",
        q="q",
        p="p",
        tau="τ",
        r="rₜ",
        n_a="nₐ",
        candidate="ŷ",
        tex={"q": "q", "p": "p", "tau": r"\tau", "r": "r_t", "n_a": "n_a", "candidate": r"\hat{y}", "t": "t"},
    ),
    "leviathan": Notation(
        "leviathan",
        "Leviathan et al.",
        q="q",
        p="p",
        tau="γ",
        r="rᵢ",
        n_a="n",
        candidate="x",
        tex={"q": "q", "p": "p", "tau": r"\gamma", "r": "r_i", "n_a": "n", "candidate": "x", "t": "i"},
    ),
    "chen": Notation(
        "chen",
        "Chen et al.",
        q="p",
        p="q",
        tau="K",
        r="r",
        n_a="n",
        candidate="x̃",
        tex={"q": "p", "p": "q", "tau": "K", "r": "r", "n_a": "n", "candidate": r"\tilde{x}", "t": "t"},
    ),
}
BOOK = NOTATIONS["book"]
