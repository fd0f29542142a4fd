"""Hostile input: whatever comes from a file, a link or a field is understood or refused in one sentence; what is shown
stays text; no name opens a file that is not ours, and none fetches a model.

The inputs are drawn anew from the same seeds in every run. ``random.Random`` spoils the files, because it is ten times
faster than drawing every choice; a failure names its seed.
"""

import base64
import copy
import functools
import gzip
import io
import itertools
import json
import os
import random
import re
import sys
import tomllib
import xml.etree.ElementTree as ET
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec_core import contexts, textstudy
from specdec_core.acceptance import CORRECTIONS, RULES
from specdec_core.cases import Case, InvalidCase, judge_case, next_law, parse_case
from specdec_core.exercises import (
    FORMATS,
    InvalidQuestions,
    Question,
    from_block,
    from_json,
    grade,
    right_answers,
    suitable_levels,
    to_json,
    variant,
)
from specdec_core.exercises.formats.own import MAX_BYTES as MAX_QUESTION_BYTES
from specdec_core.figures.answers import answers_figure, bars
from specdec_core.figures.laws import law_bars
from specdec_core.figures.overlap import overlap_of
from specdec_core.lessons import one_block
from specdec_core.lessons.one_block import Table, check_table, table_of
from specdec_core.lessons.table_text import Unreadable, pack, read_table, unpack
from specdec_core.lessons.typed_pair import from_link, read, to_link
from specdec_core.models import embedded, pairs, recorded
from specdec_core.models.protocol import ModelUnavailable
from specdec_core.steps import sentence, steps
from specdec_core.strip import strip_data, strip_text
from specdec_core.tables import blocks_to_csv
from specdec_core.trace import MAX_BYTES as MAX_TRACE_BYTES
from specdec_core.trace import InvalidTrace, Token, Trace, to_plain, trace_from_json, trace_to_json
from specdec_core.ui import links, speed_race
from specdec_core.ui.literal import literal

ROOT = Path(__file__).resolve().parent.parent
LONGEST_SENTENCE = 400
ALWAYS_THE_SAME: dict[str, Any] = {"deadline": None, "derandomize": True, "database": None}

# What a page, a spreadsheet or a course system might take for its own.
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</style><script>alert(1)</script>",
    "</td></table><iframe src=//evil.example>",
    "<!-- --><svg/onload=alert(1)>",
    "]]><x/>",
    "<![CDATA[<x/>]]>",
    "&lt;b&gt;&#60;b&#62;",
    "[x](javascript:alert(1))",
    "![x](https://evil.example/x.png)",
    "<javascript:alert(1)>",
    "https://evil.example/?a=b",
    "www.evil.example",
    "me@evil.example",
    "[a]: https://evil.example",
    "$x$ $$y$$ \\(z\\)",
    "**b** _i_ `c` ~~s~~",
    "# h",
    "- [ ] x",
    "    code",
    "| a | b |",
    ":material/home: :streamlit: :smile: :red[x]",
    "a -> b <- c -- d >= e",
    "{{7*7}} ${7*7} %{x} {0}",
    "=1+1",
    "\u202egnp.exe\u202c",
    "\u2066a\u2069\u200f",
    "a\x00b",
    "\x1b[31mred",
    "\r\nSet-Cookie: a=b",
    "\u2028\u2029\ufeff\ufffe",
]
# Values that no reader expects.
ODD: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1,
    2**53,
    -(10**40),
    10**400,
    0.5,
    -0.0,
    1e300,
    -1e308,
    5e-324,
    "",
    "0.5",
    "inf",
    "\ud800",
    "a\nb",
    "x" * 3000,
    [],
    {},
    [[]],
    {"": ""},
    [None],
    {"text": "a"},
    ["a"] * 300,
]
# The same in the text itself, where a number stood.
RAW = ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1e-400", "9" * 5000, "-0", "0x1", "01", "'1'", "1,", "", "}"]
RAW += ["[" * 700 + "]" * 700, '{"a":' * 400 + "1" + "}" * 400, '"\\ud800"', '"\\u0000"', "1" * 400, "\x00", "/**/1"]


def one_sentence(error: Exception) -> str:
    """The words of a refusal: one short line without insides, which can be sent to a browser."""
    text = str(error)
    assert text.endswith(".") and len(text.splitlines()) == 1 and len(text) <= LONGEST_SENTENCE, text[:1000]
    assert "Traceback" not in text and "object at 0x" not in text
    text.encode("utf-8")
    return text


# --- how files are spoilt --------------------------------------------------------------------------------------------


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to every part of a JSON value but the whole, as deep as our files go."""
    if len(way) > 9:
        return
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*way, key)
        yield from places(inner, (*way, key))


def at(value: Any, way: tuple[Any, ...]) -> Any:
    for key in way:
        value = value[key]
    return value


def junk(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.random()
    if kind < 0.1 and depth < 4:
        return [junk(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind < 0.2 and depth < 4:
        return {rng.choice(["text", "q", "id", "a\nb", "\ud800", "x" * 100]): junk(rng, depth + 1) for _ in range(3)}
    if kind < 0.4:
        return rng.choice(HOSTILE)
    if kind < 0.5:
        return rng.choice([rng.random(), rng.randrange(-5, 20), rng.gauss(0, 10)])
    if kind < 0.52:
        deep: Any = "x"
        for _ in range(rng.randrange(1, 300)):
            deep = [deep]
        return deep
    return copy.deepcopy(rng.choice(ODD))


def spoil(rng: random.Random, value: Any) -> None:
    """One field deleted, replaced, doubled, wrapped, renamed, or exchanged with another one."""
    ways = list(places(value))
    if not ways:
        return
    way = rng.choice(ways)
    parent, key = at(value, way[:-1]), way[-1]
    other = at(value, rng.choice(ways))
    match rng.randrange(8):
        case 0:
            del parent[key]
        case 1 | 2 | 3:
            parent[key] = junk(rng)
        case 4:
            parent[key] = [parent[key]] * rng.choice([1, 2, 50])
        case 5 if isinstance(parent, list):
            parent.insert(key, copy.deepcopy(parent[key]))
        case 5 | 6 if isinstance(parent, dict):
            parent[rng.choice(["x", f"{key}\n", "\ud800", "q"])] = parent.pop(key)
        case _:
            parent[key] = copy.deepcopy(other)


def spoilt(rng: random.Random, texts: list[str]) -> str:
    """One of ``texts``, spoilt as a JSON value, as a text, or both."""
    text = rng.choice(texts)
    if rng.random() < 0.85:
        value = json.loads(text)
        for _ in range(rng.choice([1, 1, 1, 2, 5])):
            spoil(rng, value)
        text = json.dumps(value)
    if rng.random() < 0.3:
        numbers = list(re.finditer(r"(?<=[:\[,] )-?[0-9.e+-]+(?=[,\]}])", text))
        if numbers:
            found = rng.choice(numbers)
            text = text[: found.start()] + rng.choice(RAW) + text[found.end() :]
    if rng.random() < 0.05:
        i = rng.randrange(len(text) + 1)
        text = rng.choice([text[:i], text[i:], text[:i] + text, text[:i] + rng.choice(HOSTILE) + text[i:]])
    return text


SEEDS = st.randoms(use_true_random=True)


def short_trace(data: dict[str, Any]) -> str:
    """The first two blocks with two likely tokens a position: as valid as the whole, and read in a millisecond."""
    data["blocks"] = data["blocks"][:2]
    for block in data["blocks"]:
        for holder in (*block["positions"], block["next"] or {}):
            holder["top"] = holder.get("top", [])[:2]
    return json.dumps(data)


TRACES = [short_trace(json.loads(path.read_bytes())) for path in sorted(recorded.FOLDER.glob("*.json"))]
CASES = [json.dumps(plain) for plain in json.loads(one_block.EXAMPLES.read_text(encoding="utf-8"))]
CASES += [
    json.dumps(
        {"title": "t", "context": ["a"], "tokens": ["on", "the"], "q": [0.8, 0.5], "p": [0.6, 0.2], "r": [0.7, 0.9]}
    ),
    json.dumps(
        {
            "vocabulary": ["a", "b"],
            "positions": [{"candidate": "a", "q": [0.5, 0.5], "p": [0.25, 0.75], "r": 0.7}] * 2,
            "bonus": {"p": [0.5, 0.5]},
        }
    ),
]
MADE = [
    ("accept_or_reject", 2),
    ("first_rejected", 3),
    ("the_correction", 2),
    ("why_random", 5),
    ("what_the_draft_sees", 1),
]
QUESTIONS = [to_json([variant(family, level, 1)], "A set") for family, level in MADE]


def test_what_is_spoilt_was_whole() -> None:
    """Else every spoilt file would be refused for the wrong reason."""
    assert len(TRACES) == len(recorded.names()) and all(trace_from_json(text).blocks for text in TRACES)
    assert all(judge_case(parse_case(text)) for text in CASES)
    assert all(from_json(text).questions for text in QUESTIONS)


# --- traces ----------------------------------------------------------------------------------------------------------


def show_trace(trace: Trace, figures: bool = False) -> None:
    """What a page shows of a trace, and sends to a browser."""
    sent: list[Any] = [blocks_to_csv(trace.blocks), trace.title, trace.text, trace.settings.prompt]
    again = trace_to_json(trace)
    assert trace_from_json(again) == trace
    sent.append(again)
    for block in trace.blocks:
        rule, last = trace.settings.acceptance, len(steps(block)) - 1
        for cursor in {0, last // 2, last}:
            sent.append(strip_data(trace.verified_before(block.index), block, cursor, rule))
            sent.append(sentence(block, cursor, rule))
        sent.append(strip_text(block, rule))
        for x in block.positions if figures else ():
            if x.top:
                sent.append(json.loads(overlap_of(x.top, "dark", candidate=x.token.id).to_json()))
    json.dumps(sent, ensure_ascii=False, allow_nan=False).encode("utf-8")


@given(SEEDS)
@settings(max_examples=3500, **ALWAYS_THE_SAME)
def test_a_spoilt_trace_is_read_or_refused(rng: random.Random) -> None:
    try:
        trace = trace_from_json(spoilt(rng, TRACES))
    except InvalidTrace as error:
        one_sentence(error)
    else:
        if rng.random() < 0.1:
            show_trace(trace)


@pytest.mark.parametrize("text", TRACES, ids=recorded.names())
def test_a_trace_of_hostile_tokens_is_shown(text: str) -> None:
    data = json.loads(text)
    nasty = itertools.cycle(HOSTILE)
    for way in [way for way in places(data) if way[-1] in ("text", "title", "name", "device", "prompt")]:
        if isinstance(at(data, way), str):
            at(data, way[:-1])[way[-1]] = next(nasty)
    trace = trace_from_json(json.dumps(data))
    show_trace(trace, figures=True)
    for card in strip_data(trace.prompt, trace.blocks[0], 99, trace.settings.acceptance)["cards"]:
        shown = "".join(part["text"] for part in card["token"] or [])
        assert all(c.isprintable() and c not in "\u202e\u2066\u200f" for c in shown)


@pytest.mark.parametrize("what", ["name", "value"])
def test_half_a_character_is_refused_wherever_it_stands(what: str) -> None:
    """It can be read, and neither sent to a browser nor saved."""
    for way in places(json.loads(TRACES[0])):
        data = json.loads(TRACES[0])
        if isinstance(at(data, way), str) and what == "value":
            at(data, way[:-1])[way[-1]] = "a\ud800"
        elif isinstance(way[-1], str) and what == "name":
            at(data, way[:-1])["a\ud800"] = at(data, way[:-1]).pop(way[-1])
        else:
            continue
        with pytest.raises(InvalidTrace) as caught:
            trace_from_json(json.dumps(data))
        one_sentence(caught.value)


# --- cases -----------------------------------------------------------------------------------------------------------


def show_case(case: Case, rng: random.Random) -> None:
    block = judge_case(case)
    law = next_law(case, block)
    verified = tuple(Token(text) for text in case.context)
    sent: list[Any] = [case.title, to_plain(block), None if law is None else law.tolist()]
    for cursor in {0, rng.randrange(len(steps(block))), len(steps(block)) - 1}:
        sent += [strip_data(verified, block, cursor, RULE), sentence(block, cursor, RULE)]
    table = table_of(case)
    assert check_table(table).case is None or len(check_table(table).faults) == 0
    sent += [to_plain(table), unpack(pack(table)) == table if pack(table) else True]
    json.dumps(to_plain(sent), ensure_ascii=False, allow_nan=False).encode("utf-8")


RULE = trace_from_json(TRACES[0]).settings.acceptance


@given(SEEDS)
@settings(max_examples=4000, **ALWAYS_THE_SAME)
def test_a_spoilt_case_is_judged_or_refused(rng: random.Random) -> None:
    try:
        show_case(parse_case(spoilt(rng, CASES)), rng)
    except InvalidCase as error:
        one_sentence(error)


@pytest.mark.parametrize("q", [5e-324, 1e-320, 1e-308, 1e-300])
def test_a_ratio_that_no_float_holds_is_a_sentence(q: float) -> None:
    text = json.dumps({"tokens": ["a"], "q": [q], "p": [1.0], "r": [0.5]})
    if q > 1e-309:  # 1.8e308 is the largest float
        assert judge_case(parse_case(text)).n_a == 1
    else:
        with pytest.raises(InvalidCase, match="p/q is too large"):
            judge_case(parse_case(text))


# --- question sets ---------------------------------------------------------------------------------------------------


def show_question(question: Question) -> None:
    result = grade(question, right_answers(question))
    assert 0 <= result.score <= result.max_points
    assert from_json(to_json([question])).questions == (question,)


@given(SEEDS)
@settings(max_examples=5000, **ALWAYS_THE_SAME)
def test_a_spoilt_question_set_is_read_or_refused(rng: random.Random) -> None:
    try:
        found = from_json(spoilt(rng, QUESTIONS))
    except InvalidQuestions as error:
        one_sentence(error)
        return
    for question in found.questions:
        show_question(question)
    if rng.random() < 0.05:
        for form in FORMATS.values():
            out = form.write(found.questions, found.title)
            assert isinstance(out, bytes) or out.encode("utf-8")


# --- any JSON, any bytes ---------------------------------------------------------------------------------------------

READERS: dict[str, tuple[Callable[[Any], Any], type[Exception]]] = {
    "trace": (trace_from_json, InvalidTrace),
    "case": (parse_case, InvalidCase),
    "questions": (from_json, InvalidQuestions),
}
FIELDS = ["schema", "blocks", "prompt", "settings", "draft", "target", "format", "questions", "title", "context"]
FIELDS += ["tokens", "q", "p", "r", "positions", "vocabulary", "bonus"]
HEADS: list[dict[str, Any]] = [{}, {"schema": 1, "blocks": []}, {"tokens": ["a"]}, {"format": "specdec-questions/1"}]


@given(SEEDS)
@settings(max_examples=2500, **ALWAYS_THE_SAME)
def test_any_json_is_read_or_refused(rng: random.Random) -> None:
    fields = {name: junk(rng) for name in rng.sample(FIELDS, rng.randrange(len(FIELDS)))}
    text = json.dumps(rng.choice([fields, rng.choice(HEADS) | fields, [fields], junk(rng)]))
    for call, kind in READERS.values():
        try:
            call(text)
        except kind as error:
            one_sentence(error)


@pytest.mark.parametrize("name", READERS)
@given(
    st.binary(max_size=60), st.sampled_from([b"", b"\xff\xfe", b"\xef\xbb\xbf", b"\x00\x00\xfe\xff", b'{"schema":1,'])
)
@settings(max_examples=600, **ALWAYS_THE_SAME)
def test_any_upload_is_read_or_refused(name: str, data: bytes, head: bytes) -> None:
    call, kind = READERS[name]
    with pytest.raises(kind) as caught:
        call(head + data)
    one_sentence(caught.value)


@pytest.mark.parametrize("name", READERS)
def test_whatever_the_depth(name: str) -> None:
    """Some depths can be read but not written into a sentence any more: all around the limit are tried."""
    call, kind = READERS[name]
    heads = {"trace": '{"schema":1,"blocks":[%s]}', "case": '{"title":%s}', "questions": '{"format":%s}'}
    limit = sys.getrecursionlimit()
    for depth in [*range(limit - 300, limit + 50), 50_000]:
        for left, right in (("[", "]"), ('{"a":', "}")):
            middle = left * depth + "1" + right * depth
            for text in (middle, heads[name] % middle):
                with pytest.raises(kind) as caught:
                    call(text)
                one_sentence(caught.value)


@pytest.mark.parametrize(
    ("name", "most"), [("trace", MAX_TRACE_BYTES), ("case", 2_000_000), ("questions", MAX_QUESTION_BYTES)]
)
def test_too_big_is_refused_and_the_server_takes_no_more(name: str, most: int) -> None:
    call, kind = READERS[name]
    for text in (" " * (most + 1), b"[" * (most + 1), '"' + "x" * (most - 1) + '"', b"\x80" * most):
        with pytest.raises(kind) as caught:
            call(text)
        one_sentence(caught.value)
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert config["server"]["maxUploadSize"] * 1_000_000 <= MAX_TRACE_BYTES


# --- tables and links ------------------------------------------------------------------------------------------------


def use_table(table: Table) -> None:
    """What lesson 2 does with a table: check it, and put it into the address again."""
    checked = check_table(table)
    for words in (*checked.faults, *checked.notes):
        assert len(words.splitlines()) == 1 and len(words) <= LONGEST_SENTENCE
        literal(words).encode("utf-8")
    packed = pack(table)
    assert not packed or unpack(packed) == table
    json.dumps(to_plain(table), ensure_ascii=False).encode("utf-8")


TABLES = [json.dumps([["a", "b"], [["on", "0.8", "0.6", "0.7"], ["the", "1/2", "20 %", ""]]])]


@given(SEEDS)
@settings(max_examples=3000, **ALWAYS_THE_SAME)
def test_a_spoilt_table_in_a_link_is_read_or_refused(rng: random.Random) -> None:
    raw = spoilt(rng, TABLES).encode("utf-8", "surrogatepass")
    raw = raw if rng.random() < 0.05 else zlib.compress(raw)
    text = base64.urlsafe_b64encode(raw).decode().rstrip("=")
    if rng.random() < 0.2:
        i = rng.randrange(len(text) + 1)
        text = rng.choice(
            [text[:i], text[:i] + rng.choice(["/", "é", "=", " ", "%00", "\ud800"]) + text[i:], text * 50]
        )
    try:
        use_table(unpack(text))
    except Unreadable as error:
        one_sentence(error)


def test_a_short_link_that_unpacks_to_megabytes_is_refused() -> None:
    bomb = zlib.compressobj(9)
    packed = b"".join(bomb.compress(b"[" * 2**20) for _ in range(11)) + bomb.flush()
    text = base64.urlsafe_b64encode(packed).decode()
    assert len(text) < 16_384
    with pytest.raises(Unreadable):
        unpack(text)


CELLS = ["token", "q", "p", "r", "\t", ";", ",", "\n", "\r\n", '"', '""', " ", "\x00", "\ufeff", "\x1c", "\u2028", "'"]
CELLS += ["on", "0.8", "0,5", "3/4", "75 %", "1e999", "nan", "=1+1", "{", "}", "[", "x" * 200_000]


@given(SEEDS)
@settings(max_examples=3000, **ALWAYS_THE_SAME)
def test_any_pasted_table_is_read_or_refused(rng: random.Random) -> None:
    text = "".join(rng.choices(CELLS, weights=[8] * (len(CELLS) - 1) + [0.05], k=rng.randrange(30)))
    if rng.random() < 0.5:
        text = "\n".join("\t".join(rng.choices([*HOSTILE, "0.5", "1"], k=4)) for _ in range(rng.randrange(1, 5)))
    try:
        use_table(read_table(text))
    except (Unreadable, InvalidCase) as error:
        one_sentence(error)


NUMBERS = st.text("0123456789.,-+eE_/%naif٣²\x00 ", max_size=30)
TEXTS = st.sampled_from(HOSTILE) | NUMBERS | st.text(max_size=30) | st.integers().map(str) | st.floats().map(str)


@given(TEXTS)
@settings(max_examples=2000, **ALWAYS_THE_SAME)
def test_any_value_in_a_link_is_taken_or_not(text: str) -> None:
    """A check that says yes is followed by ``int`` or ``float`` on the pages."""
    if links.whole(0, 2**32 - 1)(text):
        assert 0 <= int(text) < 2**32
    if links.number(0, 1)(text):
        assert 0 <= float(text) <= 1
    assert not links.one_of({"a": "b"})(text) or text == "a"
    try:
        rows = from_link(text)
    except ValueError:
        return
    assert from_link(to_link(rows) or text) == rows
    for problem in read(rows).problems:
        assert len(problem) <= LONGEST_SENTENCE and literal(problem).encode("utf-8")


# --- nothing of a text becomes markup --------------------------------------------------------------------------------


class Skeleton(HTMLParser):
    """Every tag, attribute, comment and declaration, and none of the text."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[Any, ...]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "br":  # a line end
            self.found.append((tag, *attrs))

    def handle_endtag(self, tag: str) -> None:
        if tag != "br":
            self.found.append(("/", tag))

    def handle_comment(self, data: str) -> None:
        self.found.append(("comment", data))

    def handle_decl(self, decl: str) -> None:
        self.found.append(("declaration", decl))

    def unknown_decl(self, data: str) -> None:
        self.found.append(("declaration", data))

    def handle_pi(self, data: str) -> None:
        self.found.append(("instruction", data))


def skeleton(markup: str) -> list[tuple[Any, ...]]:
    parser = Skeleton()
    parser.feed(markup)
    parser.close()
    return parser.found


def xml_skeleton(text: str | bytes) -> list[tuple[Any, ...]]:
    """Elements with their attributes, titles and labels left empty, and the HTML in texts that are HTML."""
    out: list[tuple[Any, ...]] = []
    for element in ET.fromstring(text).iter():
        out.append((element.tag, *sorted((k, "" if k in ("title", "label") else v) for k, v in element.attrib.items())))
        if element.get("format") == "html":
            out += skeleton(element.findtext("text") or "")
    return out


def markdown_html(text: str) -> str:
    """As a reader of markdown shows it that lets HTML through, the most careless one."""
    return str(_careless().render(text))


@functools.cache
def _careless() -> Any:
    markdown_it = pytest.importorskip("markdown_it")
    return markdown_it.MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def qti_skeleton(data: bytes) -> list[tuple[Any, ...]]:
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        return [(name, *xml_skeleton(package.read(name))) for name in sorted(package.namelist())]


BONES: dict[str, Callable[[Any], Any]] = {
    "gift": lambda text: skeleton(re.sub("^//.*", "", text)),
    "moodle": xml_skeleton,
    "qti": qti_skeleton,
    "markdown": lambda text: skeleton(markdown_html(text)),
    "markdown-answers": lambda text: skeleton(markdown_html(text)),
    "sheet": skeleton,
    "sheet-answers": skeleton,
    "json": lambda text: [way for way in places(json.loads(text))],
}
WRITTEN = ("text", "title", "prompt", "right", "feedback", "caption", "model_answer", "hints", "columns", "topics")


def filled(text: str, words: Callable[[], str]) -> str:
    """A question set whose every written text is one of ``words``."""
    data = json.loads(text)
    for way in list(places(data)):
        if isinstance(at(data, way), str) and ({*way} & {*WRITTEN, "rows"}) and way[-1] != "id":
            at(data, way[:-1])[way[-1]] = words()
    return json.dumps(data)


ALLOWED_IN_A_SET = [text for text in HOSTILE if not re.search("[\x00-\x1f\x7f\ufffe]", text)]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("text", QUESTIONS, ids=[f"{family}-{level}" for family, level in MADE])
def test_no_text_of_a_question_becomes_markup_in_an_export(name: str, text: str) -> None:
    numbers = itertools.count()
    plain = from_json(filled(text, lambda: f"word {next(numbers)}"))
    meant = BONES[name](FORMATS[name].write(plain.questions, plain.title))
    for shift in range(0, len(ALLOWED_IN_A_SET), 4):
        nasty = itertools.cycle(ALLOWED_IN_A_SET[shift:] + ALLOWED_IN_A_SET[:shift])
        hostile = from_json(filled(text, lambda nasty=nasty: next(nasty)))  # type: ignore[misc]
        assert BONES[name](FORMATS[name].write(hostile.questions, hostile.title)) == meant


@given(st.lists(st.sampled_from(HOSTILE) | st.text(min_size=1, max_size=20), min_size=1, max_size=3))
@settings(max_examples=150, **ALWAYS_THE_SAME)
def test_no_raw_text_of_a_question_becomes_markup(texts: list[str]) -> None:
    """Generators and databases make questions too, and no reader has looked at those."""
    plain = from_json(QUESTIONS[1]).questions[0]
    nasty = itertools.cycle(texts)
    steps_ = tuple(
        replace(
            step,
            prompt=next(nasty),
            right=next(nasty),
            options=tuple(replace(option, text=next(nasty)) for option in step.options),
            hints=tuple(next(nasty) for _ in step.hints),
        )
        for step in plain.steps
    )
    question = replace(plain, title=next(nasty), steps=steps_)
    for name in ("gift", "moodle", "qti", "sheet-answers"):
        assert BONES[name](FORMATS[name].write([question], next(nasty))) == PLAIN_BONES[name]


PLAIN_BONES = {
    name: BONES[name](FORMATS[name].write(from_json(QUESTIONS[1]).questions, "x"))
    for name in ("gift", "moodle", "qti", "sheet-answers")
}


def test_a_question_from_a_block_of_hostile_tokens() -> None:
    made = 0
    for text in TRACES:
        trace = trace_from_json(text)
        nasty = iter(HOSTILE)
        block = trace.blocks[0]
        positions = tuple(replace(x, token=replace(x.token, text=next(nasty))) for x in block.positions)
        hostile = replace(block, positions=positions)
        for level in suitable_levels(hostile, HOSTILE[-4:]):
            question = from_block(hostile, level, 1, HOSTILE[-4:])
            show_question(question)
            meant = from_block(replace(block, positions=tuple(_numbered(block.positions))), level, 1, list("abcd"))
            for name, form in FORMATS.items():
                found, expected = (BONES[name](form.write([x], "x")) for x in (question, meant))
                assert name == "json" or found == expected, name
            made += 1
    assert made > 5


def _numbered(positions: Any) -> Iterator[Any]:
    for x in positions:
        yield replace(x, token=replace(x.token, text=f"word{x.t}"))


# Streamlit looks for these in the text that is left once markdown has been read: escapes do not help against them.
LATE = [
    r"https?://[-.\w]+",
    r"(^|[^\w])www\.[-.\w]+",
    r"[-.\w+]+@[-\w]+(\.[-\w]+)+",
    r":material/\w+:",
    r":streamlit:",
    r"(^|\s)(<->|->|<-|--|>=|<=|~=)(\s|$)",
]


@given(st.lists(st.sampled_from(HOSTILE) | st.text(max_size=15), min_size=1, max_size=4).map(" ".join))
@settings(max_examples=1500, **ALWAYS_THE_SAME)
def test_literal_text_is_text(text: str) -> None:
    """In the markdown that streamlit reads, with whatever it does to the text afterwards."""
    shown = literal(text).strip()
    found = markdown_html(shown)
    assert skeleton(found) in ([("p",), ("/", "p")], []) and "<br" not in found
    rendered = re.sub(r"\\(.)", r"\1", shown)
    assert not any(re.search(pattern, rendered, re.IGNORECASE) for pattern in LATE)
    without_joiners = re.sub("\u2060", "", rendered)
    assert without_joiners == re.sub("\u2060", "", re.sub("[\r\n]", " ", text)).strip()


def test_no_token_becomes_markup_in_a_figure() -> None:
    """Plotly reads HTML in labels, and places like %{x} in what it shows under the pointer."""
    trace = trace_from_json(TRACES[0])
    top = trace.blocks[0].positions[0].top
    for start in range(0, len(HOSTILE), len(top)):
        nasty = (HOSTILE * 2)[start : start + len(top)]
        marked = top[0].token.id
        for make in (
            lambda texts, marked=marked: overlap_of(
                [replace(x, token=replace(x.token, text=t)) for x, t in zip(top, texts, strict=True)],
                "light",
                candidate=marked,
            ),
            lambda texts: law_bars(texts, [x.p for x in top], [x.q for x in top], "title", "dark"),
            lambda texts: answers_figure(bars(1, dict.fromkeys(texts, 1), {}), "dark"),
        ):
            hostile, meant = (_figure_bones(make(texts)) for texts in (nasty, [f"w{i}" for i in range(len(top))]))
            assert hostile == meant


def _figure_bones(figure: Any) -> list[Any]:
    plain = json.loads(figure.to_json())
    out: list[Any] = []
    for way in places(plain):
        value = at(plain, way)
        if isinstance(value, str):
            out += skeleton(value)
            if "template" in way[-1:] or str(way[-1]).endswith("template"):
                out.append(value)
            assert "$" not in value or way[0] != "data"
    return out


def test_the_components_of_the_page_set_text_as_text() -> None:
    scripts = sorted((ROOT / "assets" / "component").glob("*.js"))
    assert scripts
    for path in scripts:
        live = re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(|srcdoc", path.read_text()
        )
        assert live is None, f"{path.name}: {live}"


# --- no file and no machine but ours ---------------------------------------------------------------------------------

Event = tuple[str, str]
_listeners: list[list[Event]] = []
_ACTS = ("open", "socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.exec", "os.system")
_LOOKS = ("os.listdir", "os.scandir")


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    if _listeners and event in _ACTS + _LOOKS:
        first = arguments[1] if event == "socket.connect" else arguments[0]
        for heard in _listeners:
            heard.append((event, os.fsdecode(first) if isinstance(first, str | bytes | os.PathLike) else str(first)))


@contextmanager
def listening() -> Iterator[list[Event]]:
    """What this process opens, lists, runs and connects to. An audit hook cannot be taken away, so it stays, deaf."""
    if not getattr(sys, "_specdec_test_hook", False):
        sys.addaudithook(_heard)
        sys._specdec_test_hook = True  # type: ignore[attr-defined]
    heard: list[Event] = []
    _listeners.append(heard)
    try:
        yield heard
    finally:
        _listeners.remove(heard)


@pytest.fixture(scope="module")
def secrets_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files outside the repository that every reader would understand, if it came to read them."""
    folder = tmp_path_factory.mktemp("secrets")
    for name in ("trace.json", "secret.json", "draft.json", "config.json"):
        (folder / name).write_text(TRACES[0], encoding="utf-8")
    (folder / "texts.json.gz").write_bytes(gzip.compress(b"{}"))
    (folder / "place.npz").write_bytes(b"PK")
    return folder


def outside_names(folder: Path) -> list[str]:
    """Names that would lead out of the folders where things are looked up by name."""
    bases = [str(folder / stem) for stem in ("trace", "secret", "texts", "place", "draft")]
    names = [*bases, *(f"{base}.json" for base in bases)]
    up = "../" * 12
    names += [up + base.lstrip("/") for base in bases] + ["..\\..\\" + base for base in bases]
    names += [f"file://{base}.json" for base in bases] + [f"1-story/{up}{base.lstrip('/')}" for base in bases]
    names += [
        "../../etc/passwd",
        "/etc/passwd",
        "file:///etc/passwd",
        "../recorded/1-story",
        "./1-story",
        "1-story.json",
    ]
    names += [
        "1-story\x00",
        "1-story/",
        "~/x",
        "$HOME",
        "CON",
        "\\\\evil.example\\share",
        "*",
        "",
        ".",
        "..",
        "\ud800",
        "a" * 5000,
    ]
    return names


LOOKED_UP: dict[str, tuple[Callable[[str], Any], type[Exception]]] = {
    "recorded text": (recorded.load, InvalidTrace),
    "context": (contexts.context, contexts.InvalidContext),
    "logits": (contexts.pair_at, contexts.InvalidContext),
    "texts of the lab": (textstudy.load, textstudy.InvalidStudy),
    "race": (speed_race.load, speed_race.InvalidRace),
    "models": (pairs.load_pair, ModelUnavailable),
    "question": (lambda name: variant(name, 1, 1), ValueError),
}


@pytest.mark.parametrize("what", LOOKED_UP)
def test_no_name_opens_a_file_that_is_not_ours(what: str, secrets_folder: Path) -> None:
    call, kind = LOOKED_UP[what]
    with pytest.raises(kind):
        call("x")  # imports what it needs
    for name in outside_names(secrets_folder):
        with listening() as heard, pytest.raises(kind) as caught:
            call(name)
        one_sentence(caught.value)
        assert strangers(heard) == [], name
        assert not [x for x in heard if str(secrets_folder) in x[1]], name


def strangers(heard: list[Event]) -> list[Event]:
    """What is neither a file of the repository nor one in the folders where models are kept."""
    from huggingface_hub.constants import HF_HUB_CACHE

    ours = (ROOT / "assets", embedded.cache_dir(), Path(HF_HUB_CACHE))
    return [x for x in heard if x[0] in _ACTS and not any(Path(x[1]).resolve().is_relative_to(y) for y in ours)]


def test_a_name_in_a_file_opens_nothing(secrets_folder: Path) -> None:
    """Traces and questions name models, families and sources. Nobody follows these names."""
    for name in outside_names(secrets_folder):
        trace, question = json.loads(TRACES[0]), json.loads(QUESTIONS[0])
        trace["settings"]["pair"] = trace["draft"]["name"] = trace["title"] = name
        question["questions"][0] |= {"family": name, "source": name, "title": name or "x"}
        with listening() as heard:
            try:
                show_trace(trace_from_json(json.dumps(trace)))
            except InvalidTrace as error:
                one_sentence(error)
            with pytest.raises(InvalidQuestions) as caught:
                from_json(json.dumps(question))
        one_sentence(caught.value)
        assert heard == []


def test_an_audit_hook_hears_what_is_opened(tmp_path: Path) -> None:
    """Else the tests above would hear nothing whatever is opened."""
    (tmp_path / "x").write_text("x")
    with listening() as heard:
        (tmp_path / "x").read_text()
    assert ("open", str(tmp_path / "x")) in heard
    with listening() as heard:
        recorded.load.__wrapped__("1-story")
    assert any(path.endswith("1-story.json") for _, path in heard)


MODEL_NAMES = [
    "evil/model",
    "http://evil.example/m",
    "hf://evil/m",
    "git+https://evil.example",
    "../../m",
    "C:\\m",
    "gpt2",
    "toy",
]
MODELS = st.lists(
    st.sampled_from([*MODEL_NAMES, "::", ":", "local:", "/", "\x00", "\n"]) | st.text(max_size=12), max_size=5
)


@given(MODELS.map("".join).filter(lambda name: name not in {"toy", "embedded", *pairs.PUBLISHED}))
@settings(max_examples=800, **ALWAYS_THE_SAME)
def test_a_model_that_was_not_allowed_is_never_fetched(name: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        forbid_network(patch)
        patch.delenv(pairs.ALLOW, raising=False)
        with listening() as heard, pytest.raises(ModelUnavailable) as caught:
            pairs.load_pair(name)
    one_sentence(caught.value)
    assert strangers(heard) == []


def forbid_network(patch: pytest.MonkeyPatch) -> None:
    """The hub's functions fail the test; so does whatever else would look up a machine (see the audit events)."""
    import huggingface_hub

    def fail(*arguments: Any, **_: Any) -> Any:
        pytest.fail(f"asked the hub: {arguments!r:.200}")

    patch.setattr(huggingface_hub, "snapshot_download", fail)
    patch.setattr(huggingface_hub.HfApi, "model_info", fail)
    patch.setattr(pairs, "_open", fail)


# --- pages -----------------------------------------------------------------------------------------------------------

PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))


def address_names() -> list[str]:
    """Every short name in the sources of the pages: all names that an address can have for them are among these."""
    found: set[str] = {*RULES, *CORRECTIONS}
    for path in (*(ROOT / "specdec_core" / "ui").glob("*.py"), *(ROOT / "pages").glob("*.py")):
        found |= set(re.findall(r"[\"']([a-z][a-z_]{0,24})[\"']", path.read_text(encoding="utf-8")))
    return sorted(found)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_survives_any_link(page: str, secrets_folder: Path) -> None:
    from streamlit.testing.v1 import AppTest

    rng = random.Random(page)
    values = [
        *HOSTILE,
        *outside_names(secrets_folder)[:-2],
        "9" * 500,
        "-1",
        "nan",
        "inf",
        "1e999",
        "٣",
        "a.b.c",
        "x" * 3000,
    ]
    values += ["evil/model::evil/model", "true", "0", "1"]
    at_ = AppTest.from_file("../app.py", default_timeout=240)
    at_.switch_page(f"pages/{page}.py")
    for name in address_names():
        at_.query_params[name] = rng.choice(values)
    with listening() as heard:
        at_.run()
    assert not at_.exception
    for element in (*at_.markdown, *at_.caption, *at_.warning, *at_.error, *at_.info):
        tags = skeleton(markdown_html(element.value))
        assert not [x for x in tags if x[0] in ("script", "img", "svg", "iframe") or "evil" in str(x)], element.value
        assert not re.search(
            r"https?://[-.\w]*evil|www\.evil|@evil|:material/home:|:streamlit:", element.value.replace("\\", "")
        )
    assert not [x for x in heard if str(secrets_folder) in x[1] or "passwd" in x[1] or "evil" in x[1]]
    assert not [x for x in heard if x[0] in _ACTS and x[0] != "open"]


@pytest.mark.parametrize("value", ["inf", "nan"])
@pytest.mark.parametrize("page", PAGES)
def test_no_number_in_a_link_is_too_large_or_none(page: str, value: str) -> None:
    """Where Streamlit makes a whole number of what the link says, there is none to be made of these."""
    from streamlit.testing.v1 import AppTest

    at = AppTest.from_file("../app.py", default_timeout=240)
    at.switch_page(f"pages/{page}.py")
    for name in address_names():
        at.query_params[name] = value
    at.run()
    assert not at.exception
    at.run()
    assert not at.exception


@pytest.mark.browser
def test_a_link_puts_no_link_and_no_picture_on_a_page(open_app: Callable[..., Any]) -> None:
    """What a visitor's address says is quoted in messages: nobody shall be led away by them."""
    texts = ["https://evil.example", "me@evil.example :material/home:", "www.evil.example -> :streamlit:"]
    asked = dict(zip("qpr", texts, strict=True)) | {"draws": "https://evil.example/<img src=x>"}
    page = open_app(f"one_token?{urlencode(asked)}")
    messages = page.locator('[data-testid="stAlert"]')
    messages.nth(3).wait_for()
    shown = " ".join(messages.all_text_contents()).replace("\u2060", "")
    for text in texts:
        assert text in shown
    assert messages.locator("p a, p img, p [role=img]").count() == 0
    assert page.locator('a[href*="evil"], img[src*="evil"]').count() == 0
