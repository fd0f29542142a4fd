"""The one palette, and the base layout every figure starts from.

Hues are Okabe and Ito's, safe for colour-blind readers, darkened or lightened until text in them reaches 4.5:1 on its
background in both themes. State is never told by colour alone: words, icons, shapes and patterns go with it.

Does not know: streamlit, which theme the person uses (callers say "light" or "dark").
"""

from typing import Any, Literal

Theme = Literal["light", "dark"]

LIGHT: dict[str, str] = {
    "background": "#ffffff",
    "card": "#ffffff",
    "ink": "#1b1f24",
    "soft": "#5b6470",
    "line": "#d7dce2",
    "q": "#1b6f9f",
    "p": "#a85600",
    "accepted": "#00775a",
    "accepted_bg": "#e6f4ef",
    "rejected": "#b93a00",
    "rejected_bg": "#fdece4",
    "not_reached": "#626b76",
    "corrected": "#2f55c9",
    "corrected_bg": "#e9eefc",
    "kept": "#8a94a1",
    "residual": "#7a4fb5",
}
DARK: dict[str, str] = {
    "background": "#0f1318",
    "card": "#161b22",
    "ink": "#eef1f5",
    "soft": "#a3adb9",
    "line": "#2c343e",
    "q": "#6cc0ee",
    "p": "#f2a95a",
    "accepted": "#4fd1a5",
    "accepted_bg": "#10281f",
    "rejected": "#ff9a6b",
    "rejected_bg": "#33190f",
    "not_reached": "#98a2ae",
    "corrected": "#9db4ff",
    "corrected_bg": "#182243",
    "kept": "#6f7a87",
    "residual": "#c3a1f0",
}


def colours(theme: Theme) -> dict[str, str]:
    """Names to colours for ``theme``."""
    return DARK if theme == "dark" else LIGHT


def layout(theme: Theme, **more: Any) -> dict[str, Any]:
    """The layout every figure starts from; ``more`` overrides single entries.

    Transparent background, no zoom by dragging (a page is scrolled past a figure far more often), legend on top.
    """
    c = colours(theme)
    axis = {
        "gridcolor": c["line"],
        "linecolor": c["line"],
        "zerolinecolor": c["line"],
        "tickfont": {"size": 14, "color": c["ink"]},
        "title": {"font": {"size": 14, "color": c["soft"]}},
        "fixedrange": True,
        "automargin": True,
    }
    base: dict[str, Any] = {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"size": 14, "color": c["ink"], "family": "Source Sans, sans-serif"},
        "margin": {"l": 8, "r": 8, "t": 36, "b": 8},
        "legend": {
            "orientation": "h",
            "yanchor": "bottom",
            "y": 1.02,
            "x": 0,
            "font": {"size": 14, "color": c["ink"]},
        },
        "xaxis": dict(axis),
        "yaxis": dict(axis),
        "dragmode": False,
        "hoverlabel": {"font": {"size": 14}},
        "bargap": 0.25,
    }
    for key, value in more.items():
        base[key] = {**base[key], **value} if isinstance(value, dict) and isinstance(base.get(key), dict) else value
    return base
