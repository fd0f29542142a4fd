"""A figure put together from plain dicts, in a fiftieth of the time: plotly's own way checks every entry it is given.

The checks are made once, by ``tests/test_figures_drawing.py``, and not on every page. What plotly would have put right
silently is therefore to be right from the start: a title is a dict, and nothing is None.

Does not know: streamlit, themes, what a figure shows.
"""

from functools import lru_cache
from typing import Any

import numpy as np
import plotly.graph_objects as go
import plotly.io as pio
from plotly.basedatatypes import convert_to_base64

#: What a template says of axes in space, of maps and of colour scales that traces share. No figure here has these.
_NEVER_DRAWN = ("coloraxis", "colorscale", "geo", "map", "mapbox", "polar", "scene", "smith", "ternary")


class Drawing:
    """Traces, shapes and annotations in the order in which they are added; ``figure`` makes the figure of them."""

    def __init__(self) -> None:
        self._traces: list[dict[str, Any]] = []
        self._shapes: list[dict[str, Any]] = []
        self._annotations: list[dict[str, Any]] = []

    def add_bar(self, **entries: Any) -> None:
        self._traces.append({"type": "bar", **entries})

    def add_scatter(self, **entries: Any) -> None:
        self._traces.append({"type": "scatter", **entries})

    def add_heatmap(self, **entries: Any) -> None:
        self._traces.append({"type": "heatmap", **entries})

    def add_contour(self, **entries: Any) -> None:
        self._traces.append({"type": "contour", **entries})

    def add_shape(self, **entries: Any) -> None:
        self._shapes.append(entries)

    def add_annotation(self, **entries: Any) -> None:
        self._annotations.append(entries)

    def figure(self, layout: dict[str, Any]) -> go.Figure:
        """The figure with ``layout``; nothing of what was given is kept."""
        whole = _unshared(layout)
        if self._shapes:
            whole["shapes"] = self._shapes
        if self._annotations:
            whole["annotations"] = self._annotations
        if isinstance(pio.templates.default, str):
            whole["template"] = _template(pio.templates.default, frozenset(trace["type"] for trace in self._traces))
        return _Drawn({"data": [_unshared(trace) for trace in self._traces], "layout": whole})


class _Drawn(go.Figure):
    """A figure that is plotly's only once more than its dict is asked for: most are written as they are and forgotten.

    Becoming plotly's costs two copies of everything, four times as long as drawing it.
    """

    def __init__(self, whole: dict[str, Any]) -> None:
        object.__setattr__(self, "_whole", whole)

    def to_dict(self) -> dict[str, Any]:
        """The figure as it is written; to be read only."""
        return super().to_dict() if "_data" in self.__dict__ else _compact(self._whole)

    def __getattr__(self, name: str) -> Any:
        if "_data" in self.__dict__ or name == "_whole":
            raise AttributeError(name)
        # ``_validate`` is plotly's own, and no promise: the version is pinned, and a test fails where it has no effect.
        super().__init__(self._whole, _validate=False)
        return getattr(self, name)


def _unshared(value: Any) -> Any:
    """Its own dicts and arrays all the way down: plotly keeps shared ones shared, and one axis would change both."""
    if isinstance(value, dict):
        return {x: _unshared(y) for x, y in value.items()}
    return value.copy() if isinstance(value, np.ndarray) else value


def _compact(whole: dict[str, Any]) -> dict[str, Any]:
    """``whole`` with arrays as plotly writes them, in bytes and not in digits. Only traces have arrays."""
    data = [_unshared(trace) for trace in whole["data"]]
    convert_to_base64(data)
    return {"data": data, "layout": whole["layout"]}


@lru_cache(maxsize=64)
def _template(name: str, types: frozenset[str]) -> dict[str, Any]:
    """The template that every figure would get, without what it says of traces and layouts that are not drawn.

    It would be most of what is sent to a browser, and most of the time that it takes to write.
    """
    whole = pio.templates[name].to_plotly_json()
    data = {x: y for x, y in whole.get("data", {}).items() if x in types}
    layout = {x: y for x, y in whole.get("layout", {}).items() if x not in _NEVER_DRAWN}
    return ({"data": data} if data else {}) | ({"layout": layout} if layout else {})
