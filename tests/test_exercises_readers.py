"""Small readers of GIFT, Moodle XML and QTI 2.1, written from the formats' rules and not from our writers.

They stand in for course systems: the tests of the formats ask them which answers are right. The GIFT reader does what
Moodle's importer does, in its order: escapes to placeholders, braces found, answers split; the QTI reader checks the
content model and runs response processing.
"""

import html
import io
import re
import xml.etree.ElementTree as ET
import zipfile
from dataclasses import dataclass, field
from html.parser import HTMLParser

Q = "{http://www.imsglobal.org/xsd/imsqti_v2p1}"


@dataclass
class Read:
    """A question as a course system would hold it. answers: (text or number, percent, feedback, tolerance)."""

    name: str
    kind: str
    text: str
    answers: list[tuple[str, float, str, float]] = field(default_factory=list)
    single: bool = True
    feedback: str = ""

    def score(self, given: str | set[str]) -> float:
        """Percent for an answer, as Moodle reckons it."""
        if isinstance(given, set):
            return max(0.0, sum(percent for text, percent, _f, _t in self.answers if text in given))
        if self.kind == "numerical":
            value = float(given)
            fits = [a for a in self.answers if abs(float(a[0]) - value) <= a[3] + 1e-12]
            return fits[0][1] if fits else 0.0
        return next((percent for text, percent, _f, _t in self.answers if text == given), 0.0)

    def feedback_for(self, given: str) -> str:
        if self.kind == "numerical":
            fits = [a for a in self.answers if abs(float(a[0]) - float(given)) <= a[3] + 1e-12]
            return fits[0][2] if fits else ""
        return next((says for text, _p, says, _t in self.answers if text == given), "")


# --- HTML as text ---------------------------------------------------------------------------------------------------


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self.tags: list[str] = []

    def handle_data(self, data: str) -> None:
        self.found.append(data)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.tags.append(tag)
        if tag == "br":
            self.found.append("\n")
        elif tag in ("p", "td", "th", "li", "h1", "h2"):
            self.found.append("\x1f")


ALLOWED_TAGS = {"p", "b", "table", "caption", "thead", "tbody", "tr", "th", "td", "ul", "li", "br", "div", "span"}
ALLOWED_TAGS |= {"html", "head", "meta", "title", "style", "body", "h1", "h2", "section"}


def text_of(markup: str) -> str:
    """The text that a browser shows. Any tag that we did not write ourselves is a fault."""
    parser = _Text()
    parser.feed(markup)
    parser.close()
    assert set(parser.tags) <= ALLOWED_TAGS, set(parser.tags) - ALLOWED_TAGS
    return "".join(parser.found)


# --- GIFT -----------------------------------------------------------------------------------------------------------

_PLACES = {":": "&&058;", "#": "&&035;", "=": "&&061;", "{": "&&123;", "}": "&&125;", "~": "&&126;", "n": "&&010"}
_WEIGHT = re.compile(r"^%(-*[0-9]{1,3}\.?[0-9]*)%")


def _pre(text: str) -> str:
    text = text.replace("\\\\", "&&092;")
    for c, place in _PLACES.items():
        text = text.replace("\\" + c, place)
    return text.replace("&&092;", "\\")


def _post(text: str) -> str:
    for c, place in _PLACES.items():
        text = text.replace(place, "\n" if c == "n" else c)
    return text


def _formatted(text: str) -> str:
    text = _post(text.strip())
    if text.startswith("[html]"):
        return text_of(text[6:]).strip()
    assert not text.startswith("["), text[:20]
    return text


def read_gift(text: str) -> list[Read]:
    found = []
    for block in re.split(r"\n\s*\n", text):
        lines = [line for line in block.split("\n") if not line.strip().startswith("//")]
        body = _pre("\n".join(lines).strip())
        if body and not body.startswith("$CATEGORY:"):
            found.append(_gift_question(body))
    return found


def _gift_question(body: str) -> Read:
    assert body.startswith("::")
    name, rest = body[2:].split("::", 1)
    assert rest.count("{") == 1 and rest.count("}") == 1 and rest.endswith("}"), rest
    stem, answers = rest[:-1].split("{")
    answers, general = answers.strip().rsplit("####", 1)
    read = Read(_post(name), "essay", _formatted(stem), feedback=_formatted(general))
    answers = answers.strip()
    if answers.startswith("#"):
        read.kind = "numerical"
        _gift_numbers(read, answers[1:])
    elif answers:
        read.kind = "multichoice"
        _gift_choices(read, answers)
    return read


def _gift_numbers(read: Read, answers: str) -> None:
    assert "~" not in answers
    for answer in answers.split("=")[1:]:
        percent, answer = _weight(answer.strip(), 100.0)
        number, _hash, says = answer.partition("#")
        value, tolerance = number.strip().split(":")
        read.answers.append((value, percent, _formatted(says), float(tolerance)))


def _gift_choices(read: Read, answers: str) -> None:
    read.single = "=" in answers
    for answer in answers.replace("=", "~=").split("~")[1:]:
        answer = answer.strip()
        percent, answer = (100.0, answer[1:]) if answer[0] == "=" else _weight(answer, 0.0)
        text, _hash, says = answer.partition("#")
        read.answers.append((_formatted(text), percent, _formatted(says), 0.0))


def _weight(answer: str, otherwise: float) -> tuple[float, str]:
    match = _WEIGHT.match(answer)
    return (float(match[1]), answer[match.end() :]) if match else (otherwise, answer)


# --- Moodle XML -----------------------------------------------------------------------------------------------------

GRADES = {100, 90, 83.33333, 80, 75, 70, 66.66667, 60, 50, 40, 33.33333, 30, 25, 20, 16.66667, 14.28571, 12.5}
GRADES |= {11.11111, 10, 5, 0}


def read_moodle(text: str) -> list[Read]:
    root = ET.fromstring(text)
    assert root.tag == "quiz"
    found = []
    for item in root:
        assert item.tag == "question"
        if item.get("type") != "category":
            found.append(_moodle_question(item))
    return found


def _inner(item: ET.Element | None) -> str:
    assert item is not None
    markup = item.findtext("text") or ""
    return text_of(markup).strip() if item.get("format") == "html" else markup


def _moodle_question(item: ET.Element) -> Read:
    kind = item.get("type") or ""
    assert kind in ("numerical", "multichoice", "essay")
    read = Read(item.findtext("name/text") or "", kind, _inner(item.find("questiontext")))
    read.feedback = _inner(item.find("generalfeedback"))
    read.single = item.findtext("single") != "false"
    assert int(item.findtext("defaultgrade") or "") >= 0
    for answer in item.findall("answer"):
        percent = float(answer.get("fraction") or "nan")
        assert abs(percent) in GRADES, percent
        tolerance = float(answer.findtext("tolerance") or 0)
        read.answers.append((_inner(answer), percent, _inner(answer.find("feedback")), tolerance))
    if kind != "essay":
        assert sum(p for _t, p, _f, _tol in read.answers if p > 0) >= 99.9999
    return read


# --- QTI 2.1 --------------------------------------------------------------------------------------------------------

#: element: (children in order, each with "?", "*", "+" or nothing; required attributes). "any" stands for any order.
MODEL: dict[str, tuple[str, str]] = {
    "assessmentItem": (
        "responseDeclaration* outcomeDeclaration* itemBody? responseProcessing? modalFeedback*",
        "identifier title adaptive timeDependent",
    ),
    "responseDeclaration": ("correctResponse? mapping?", "identifier cardinality baseType"),
    "outcomeDeclaration": ("defaultValue?", "identifier cardinality baseType"),
    "correctResponse": ("value+", ""),
    "defaultValue": ("value+", ""),
    "value": ("", ""),
    "mapping": ("mapEntry+", "defaultValue"),
    "mapEntry": ("", "mapKey mappedValue"),
    "itemBody": ("any p table choiceInteraction extendedTextInteraction", ""),
    "p": ("any textEntryInteraction", ""),
    "table": ("caption? thead? tbody+", ""),
    "caption": ("", ""),
    "thead": ("tr+", ""),
    "tbody": ("tr+", ""),
    "tr": ("any th td", ""),
    "th": ("", ""),
    "td": ("", ""),
    "choiceInteraction": ("prompt? simpleChoice+", "responseIdentifier shuffle maxChoices"),
    "simpleChoice": ("", "identifier"),
    "prompt": ("", ""),
    "extendedTextInteraction": ("prompt?", "responseIdentifier"),
    "textEntryInteraction": ("", "responseIdentifier"),
    "responseProcessing": ("any responseCondition setOutcomeValue", ""),
    "responseCondition": ("responseIf responseElseIf*", ""),
    "responseIf": ("any equal match not setOutcomeValue", ""),
    "responseElseIf": ("any equal match setOutcomeValue", ""),
    "setOutcomeValue": ("any sum multiple", "identifier"),
    "sum": ("any variable baseValue mapResponse", ""),
    "multiple": ("any variable baseValue", ""),
    "equal": ("any variable correct baseValue", "toleranceMode"),
    "match": ("any variable correct baseValue multiple", ""),
    "not": ("isNull", ""),
    "isNull": ("variable", ""),
    "variable": ("", "identifier"),
    "correct": ("", "identifier"),
    "baseValue": ("", "baseType"),
    "mapResponse": ("", "identifier"),
    "modalFeedback": ("any p table", "outcomeIdentifier identifier showHide"),
}
_NCNAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


def check_qti(element: ET.Element) -> None:
    """The element against the content model above, which holds the part of QTI 2.1 that we write."""
    name = element.tag.removeprefix(Q)
    assert element.tag.startswith(Q) and name in MODEL, element.tag
    children, required = MODEL[name]
    for attribute in required.split():
        assert attribute in element.attrib, (name, attribute)
    for attribute in ("identifier", "responseIdentifier", "outcomeIdentifier", "mapKey"):
        assert _NCNAME.fullmatch(element.get(attribute, "x")), (name, element.attrib)
    names = [child.tag.removeprefix(Q) for child in element]
    if children.startswith("any"):
        assert set(names) <= set(children.split()[1:]), (name, names)
    else:
        pattern = "".join(f"(?:{c.rstrip('?*+')} ){c[len(c.rstrip('?*+')) :]}" for c in children.split())
        assert re.fullmatch(pattern, "".join(n + " " for n in names)), (name, names)
    if name in ("equal", "match"):
        assert len(names) == 2
    for child in element:
        check_qti(child)


def read_qti(package: bytes) -> list[ET.Element]:
    """The items of a package, in the manifest's order; manifest and items checked."""
    with zipfile.ZipFile(io.BytesIO(package)) as files:
        ns = "{http://www.imsglobal.org/xsd/imscp_v1p1}"
        manifest = ET.fromstring(files.read("imsmanifest.xml"))
        assert [c.tag for c in manifest if isinstance(c.tag, str)] == [
            ns + "metadata",
            ns + "organizations",
            ns + "resources",
        ]
        resources = manifest.findall(f"{ns}resources/{ns}resource")
        hrefs = [resource.get("href") or "" for resource in resources]
        assert all(r.get("type") == "imsqti_item_xmlv2p1" for r in resources)
        assert [r.find(f"{ns}file").get("href") for r in resources] == hrefs  # type: ignore[union-attr]
        assert sorted(files.namelist()) == sorted([*hrefs, "imsmanifest.xml"])
        items = [ET.fromstring(files.read(href)) for href in hrefs]
    for item in items:
        check_qti(item)
        declared = {d.get("identifier") for d in item.findall(f"{Q}responseDeclaration")}
        used = {e.get("responseIdentifier") for e in item.iter() if e.get("responseIdentifier")}
        assert declared == used
        ids = [f.get("identifier") for f in item.findall(f"{Q}modalFeedback")]
        assert len(set(ids)) == len(ids)
    return items


def correct_of(item: ET.Element, response: str) -> list[str]:
    for declaration in item.findall(f"{Q}responseDeclaration"):
        if declaration.get("identifier") == response:
            return [value.text or "" for value in declaration.iter(f"{Q}value")]
    raise KeyError(response)


def run_qti(item: ET.Element, responses: dict[str, list[str]]) -> tuple[float, list[str]]:
    """(SCORE, identifiers of the feedback shown) after response processing."""
    run = _Run(item, responses)
    processing = item.find(f"{Q}responseProcessing")
    assert processing is not None
    for rule in processing:
        run.rule(rule)
    return run.score, run.shown


class _Run:
    def __init__(self, item: ET.Element, responses: dict[str, list[str]]) -> None:
        self.item, self.responses = item, responses
        self.score, self.shown = 0.0, []  # type: tuple[float, list[str]]

    def rule(self, rule: ET.Element) -> None:
        name = rule.tag.removeprefix(Q)
        if name == "setOutcomeValue":
            self.assign(rule)
            return
        assert name == "responseCondition"
        for branch in rule:
            if self.true(branch[0]):
                for inner in branch[1:]:
                    self.rule(inner)
                return

    def assign(self, rule: ET.Element) -> None:
        expression = rule[0]
        if rule.get("identifier") == "SCORE":
            assert expression.tag == f"{Q}sum"
            self.score = sum(self.number(e) for e in expression)
        else:
            self.shown = [*self.shown, *[e.text or "" for e in expression if e.tag == f"{Q}baseValue"]]

    def number(self, e: ET.Element) -> float:
        if e.tag == f"{Q}variable":
            assert e.get("identifier") == "SCORE"
            return self.score
        if e.tag == f"{Q}baseValue":
            return float(e.text or "")
        return self.mapped(e.get("identifier") or "")

    def mapped(self, response: str) -> float:
        for declaration in self.item.findall(f"{Q}responseDeclaration"):
            mapping = declaration.find(f"{Q}mapping")
            if declaration.get("identifier") == response and mapping is not None:
                table = {e.get("mapKey"): float(e.get("mappedValue") or "") for e in mapping}
                total = sum(table.get(id_, float(mapping.get("defaultValue") or "")) for id_ in self.given(response))
                return min(
                    max(total, float(mapping.get("lowerBound") or "-inf")), float(mapping.get("upperBound") or "")
                )
        raise KeyError(response)

    def given(self, response: str) -> list[str]:
        return self.responses.get(response, [])

    def true(self, e: ET.Element) -> bool:
        name = e.tag.removeprefix(Q)
        if name == "not":
            return bool(self.given(e[0][0].get("identifier") or ""))
        given, expected = self.given(e[0].get("identifier") or ""), self.values(e[1])
        if not given:
            return False
        if name == "match":
            return sorted(given) == sorted(expected)
        tolerance = float((e.get("tolerance") or "0").split()[0])
        return abs(float(given[0]) - float(expected[0])) <= tolerance + 1e-12

    def values(self, e: ET.Element) -> list[str]:
        if e.tag == f"{Q}correct":
            return correct_of(self.item, e.get("identifier") or "")
        if e.tag == f"{Q}multiple":
            return [child.text or "" for child in e]
        return [e.text or ""]


# --- the readers themselves -----------------------------------------------------------------------------------------


def test_the_gift_reader_knows_the_manuals_examples() -> None:
    (read,) = read_gift("::Q1:: What's 2+2? \\= ?{\n =4#right\n ~%50%3#near\n ~5\n####why\n}")
    assert read.text == "What's 2+2? = ?" and read.score("4") == 100 and read.score("3") == 50 and read.score("5") == 0
    (read,) = read_gift("::Q2:: When?{#\n =1822:5#yes\n =%0%1900:2#no\n####g}")
    assert read.score("1820") == 100 and read.score("1901") == 0 and read.feedback_for("1901") == "no"


def test_the_html_reader_refuses_foreign_tags() -> None:
    assert text_of("<p>a &lt;b&gt; &#36;</p>") == "\x1fa <b> $"
    for markup in ("<script>x</script>", "<i>x</i>", "<img src=x>"):
        try:
            text_of(markup)
        except AssertionError:
            continue
        raise AssertionError(markup)
    assert html.unescape("&#58;") == ":"
