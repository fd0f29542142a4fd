"""Lesson 3: what each position sees; brackets, formula, triangles and sentences say the same."""

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec_core.figures.context import triangle
from specdec_core.lessons import context_examples
from specdec_core.lessons import draft_context as lesson
from specdec_core.lessons.draft_context import Part, Situation, read
from specdec_core.ui.context_view import groups
from specdec_core.words import BOOK, NOTATIONS

words = st.lists(st.text(st.characters(blacklist_categories=["Z", "C"]), min_size=1, max_size=6), max_size=6)
situations = st.builds(
    lambda x, y, c: Situation(tuple(x), tuple(y), tuple(c)), words, words.filter(len), words.filter(len)
)


def default() -> Situation:
    found, problems = read(*lesson.DEFAULTS.values())
    assert found is not None and not problems
    return found


def test_candidate_3_sees_its_own_earlier_candidates() -> None:
    seen = dict(default().seen(3))
    assert seen[Part.VERIFIED] == ("The", "cat", "sat")
    assert seen[Part.OWN] == ("on", "the")
    assert lesson.formula_tex(3) == r"\Pr\nolimits_{q}(\, y_{i+3} \mid X, Y_{\le i}, \hat{y}_{i+1}, \hat{y}_{i+2} \,)"


def test_each_notation_writes_it_its_own_way() -> None:
    assert lesson.formula_tex(2, NOTATIONS["leviathan"]) == r"q_{2}(x) = q(\, x \mid \mathit{prefix}, x_{1} \,)"
    assert lesson.formula_tex(2, NOTATIONS["chen"]).startswith("p_{2}(x) = p(")
    assert lesson.candidate_symbol(2) == "ŷᵢ₊₂"


@settings(max_examples=25)  # figures take their time
@given(situations, st.data())
def test_brackets_formula_triangle_and_sentence_agree(x: Situation, data: st.DataObject) -> None:
    t = data.draw(st.integers(1, x.tau))
    seen = x.seen(t)
    flat = [token for _part, tokens in seen for token in tokens]
    assert flat == [*x.x, *x.verified, *x.candidates[: t - 1]]
    assert f"{len(flat)}" in lesson.sentence(x, t)
    shown = groups(x, t, BOOK)
    assert [g["kind"] for g in shown[: len(seen)]] == [part.value for part, _tokens in seen]
    assert [chip["t"] for g in shown for chip in g["tokens"] if chip["t"] is not None] == list(range(1, x.tau + 1))
    pieces = [text for text, kind in lesson.filled(x, t) if kind]
    assert len(pieces) == len(seen)
    for target in (False, True):
        figure = triangle(x, t, target, "light")
        given_ = next((d for d in figure.data if d.name == "candidates it is given"), None)
        cells = [] if given_ is None else list(zip(given_.x, given_.y, strict=True))
        assert sum(row == t for _column, row in cells) == t - 1
        assert all(column - 1 < row for column, row in cells)
        rows = len(figure.layout.yaxis.tickvals)
        assert rows == x.tau + target


@pytest.mark.parametrize(
    ("texts", "word"),
    [
        (("", "a", ""), "no candidate"),
        (("", " ", "a"), "both blank"),
        (("a", "b", "c " * 9), "9 candidates"),
        (("a " * 25, "b", "c"), "25 words"),
    ],
)
def test_texts_that_cannot_be_shown(texts: tuple[str, str, str], word: str) -> None:
    found, problems = read(*texts)
    assert found is None
    assert word in " ".join(problems)


def test_the_right_choice_and_the_slips() -> None:
    right = set(lesson.choices()) - {"c3", "c4"}
    assert lesson.right_choice(right)
    assert "Right" in lesson.feedback(right)
    assert "on its own" in lesson.feedback(right - {"c1", "c2"})
    assert "missing" in lesson.feedback(right - {"c1"})
    assert "missing" in lesson.feedback(right - {"y2"})
    assert "input" in lesson.feedback(right - {"x"})
    assert "being drawn" in lesson.feedback(right | {"c3"})
    assert "does not exist" in lesson.feedback(right | {"c4"})
    assert lesson.feedback(()).startswith("Choose")


@given(st.sets(st.sampled_from(sorted(lesson.choices()))))
def test_only_the_right_choice_is_called_right(chosen: set[str]) -> None:
    assert lesson.feedback(chosen).startswith("Right") == lesson.right_choice(chosen)


# --- recorded examples ----------------------------------------------------------------------------------------------

EXAMPLE = {
    "title": "A story",
    "x": "A story.",
    "verified": "The cat sat",
    "candidates": [" on", " the"],
    "alpha_seen": 0.6,
    "alpha_blind": 0.1,
    "top": [{"token": " mat", "seen": 0.4, "blind": 0.01, "p": 0.5}, {"token": " on", "seen": 0, "blind": 0.5, "p": 0}],
}


def load_from(path: Path, monkeypatch: pytest.MonkeyPatch) -> context_examples.Examples:
    monkeypatch.setattr(context_examples, "FILE", path)
    context_examples.load.cache_clear()
    try:
        return context_examples.load()
    finally:
        context_examples.load.cache_clear()


def test_recorded_examples_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "context.json"
    file.write_text(json.dumps({"schema": 1, "draft": "d", "target": "t", "examples": [EXAMPLE]}), encoding="utf-8")
    found = load_from(file, monkeypatch)
    assert found.examples[0].better
    said = context_examples.sentence(found.examples[0])
    assert "“␣mat” (q = 0.400)" in said
    assert "0.600, or 0.100" in said
    assert "In 1 of 1" in context_examples.tally(found)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 2}', '{"schema": 1, "draft": "d", "target": "t"}'])
def test_a_missing_or_strange_file_gives_no_examples(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "context.json"
    if text:
        file.write_text(text, encoding="utf-8")
    assert load_from(file, monkeypatch).examples == ()


def test_the_committed_file_is_consistent() -> None:
    context_examples.load.cache_clear()
    for example in context_examples.load().examples:
        assert 0 <= example.alpha_seen <= 1 and 0 <= example.alpha_blind <= 1
        for column in ("seen", "blind", "p"):
            assert sum(getattr(x, column) for x in example.top) <= 1 + 1e-6
        listed = sum(min(x.seen, x.p) for x in example.top)
        assert listed <= example.alpha_seen + 1e-5


def test_the_committed_file_belongs_to_the_draft_that_is_there() -> None:
    weights = context_examples.FILE.parents[1] / "draft" / "draft.safetensors"
    if not (context_examples.FILE.exists() and weights.exists()):
        pytest.skip("nothing was recorded yet")
    recorded = json.loads(context_examples.FILE.read_text(encoding="utf-8"))["weights"]
    found = hashlib.sha256(weights.read_bytes()).hexdigest()
    assert recorded == found, "run python scripts/record_lessons.py"
