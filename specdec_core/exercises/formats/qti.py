"""Export to QTI 2.1: a zip with a manifest and one item per question, its steps as interactions of that item.

Carried: right answers with tolerance, points, partial credit for sets, feedback for known wrong answers, the solution
(as feedback after answering). Not carried: hints, follow-through, the picture, numbers written as 3/4 or 75 %.
"""

import io
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Iterable, Sequence
from fractions import Fraction

from specdec_core.exercises.formats.markup import step_prompt, xml_safe
from specdec_core.exercises.question import SETS, Answer, Kind, Part, Question, Step, Text
from specdec_core.exercises.values import decimal
from specdec_core.words import _

ITEM_NS = "http://www.imsglobal.org/xsd/imsqti_v2p1"
ITEM_XSD = "http://www.imsglobal.org/xsd/qti/qtiv2p1/imsqti_v2p1.xsd"
PACKAGE_NS = "http://www.imsglobal.org/xsd/imscp_v1p1"
_XSI = "http://www.w3.org/2001/XMLSchema-instance"
_EPOCH = (1980, 1, 1, 0, 0, 0)


def to_qti(questions: Sequence[Question], title: str = "") -> bytes:
    """The questions as a QTI 2.1 content package (zip). The same questions give the same bytes."""
    out = io.BytesIO()
    names = [f"q{number:03d}" for number in range(1, len(questions) + 1)]
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        _put(package, "imsmanifest.xml", _manifest(names, title))
        for name, question in zip(names, questions, strict=True):
            _put(package, f"items/{name}.xml", item_xml(question, name))
    return out.getvalue()


def _put(package: zipfile.ZipFile, name: str, root: ET.Element) -> None:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    text = '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"
    package.writestr(info, text.encode("utf-8"))


def _manifest(names: Sequence[str], title: str) -> ET.Element:
    root = ET.Element("manifest", {"xmlns": PACKAGE_NS, "identifier": "specdec-questions"})
    metadata = ET.SubElement(root, "metadata")
    ET.SubElement(metadata, "schema").text = "QTIv2.1 Package"
    ET.SubElement(metadata, "schemaversion").text = "1.0.0"
    if title:
        root.insert(0, ET.Comment(" " + xml_safe(title).replace("-", "‐") + " "))
    ET.SubElement(root, "organizations")
    resources = ET.SubElement(root, "resources")
    for name in names:
        href = f"items/{name}.xml"
        attributes = {"identifier": f"r-{name}", "type": "imsqti_item_xmlv2p1", "href": href}
        ET.SubElement(ET.SubElement(resources, "resource", attributes), "file", href=href)
    return root


def item_xml(question: Question, name: str) -> ET.Element:
    """One question as an assessmentItem."""
    item = ET.Element(
        "assessmentItem",
        {
            "xmlns": ITEM_NS,
            "xmlns:xsi": _XSI,
            "xsi:schemaLocation": f"{ITEM_NS} {ITEM_XSD}",
            "identifier": name,
            "title": xml_safe(question.title),
            "label": question.id,
            "adaptive": "false",
            "timeDependent": "false",
        },
    )
    numbered = [(f"R{i}", step) for i, step in enumerate(question.steps, start=1)]
    for response, step in numbered:
        _declare(item, response, step)
    _outcome(item, "SCORE", "single", "float", "0")
    _outcome(item, "MAXSCORE", "single", "float", str(question.max_points))
    _outcome(item, "FEEDBACK", "multiple", "identifier", None)
    body = ET.SubElement(item, "itemBody")
    _parts(body, question.stem)
    for response, step in numbered:
        _interaction(body, question, response, step)
    processing = ET.SubElement(item, "responseProcessing")
    for response, step in numbered:
        _process(processing, response, step)
    _say(processing, "SOLUTION")
    for response, step in numbered:
        for i, wrong in enumerate(step.wrong, start=1):
            _parts(_modal(item, f"{response}-{i}"), [Text(wrong.feedback)])
    _parts(_modal(item, "SOLUTION"), [*question.solution, *_ideas(question)])
    return item


def _ideas(question: Question) -> list[Part]:
    free = [step for step in question.steps if step.kind is Kind.SELF_CHECK]
    return [Text(text) for step in free for text in (*(idea.text for idea in step.key_ideas), step.model_answer)]


def _declare(item: ET.Element, response: str, step: Step) -> None:
    several = step.kind in SETS
    base = {Kind.NUMBER: "float", Kind.INTEGER: "integer", Kind.SELF_CHECK: "string"}.get(step.kind, "identifier")
    declaration = ET.SubElement(
        item,
        "responseDeclaration",
        {"identifier": response, "cardinality": "multiple" if several else "single", "baseType": base},
    )
    if step.answer is None:
        return
    correct = ET.SubElement(declaration, "correctResponse")
    for value in _values(step.answer):
        ET.SubElement(correct, "value").text = value
    if several:
        _mapping(declaration, step)


def _values(answer: Answer) -> tuple[str, ...]:
    if isinstance(answer, Fraction):
        return (decimal(answer, 12),)
    return answer if isinstance(answer, tuple) else (answer or "",)


def _mapping(declaration: ET.Element, step: Step) -> None:
    """Partial credit: a share for every right mark, the same taken away for every wrong one, never below nothing."""
    assert isinstance(step.answer, tuple)
    share = decimal(Fraction(step.points, len(step.answer)), 12)
    bounds = {"lowerBound": "0", "upperBound": str(step.points), "defaultValue": "-" + share}
    mapping = ET.SubElement(declaration, "mapping", bounds)
    for option in step.options:
        value = share if option.id in step.answer else "-" + share
        ET.SubElement(mapping, "mapEntry", {"mapKey": option.id, "mappedValue": value})


def _outcome(item: ET.Element, identifier: str, cardinality: str, base: str, value: str | None) -> None:
    attributes = {"identifier": identifier, "cardinality": cardinality, "baseType": base}
    declaration = ET.SubElement(item, "outcomeDeclaration", attributes)
    if value is not None:
        ET.SubElement(ET.SubElement(declaration, "defaultValue"), "value").text = value


def _parts(parent: ET.Element, parts: Iterable[Part]) -> None:
    for part in parts:
        if isinstance(part, Text):
            ET.SubElement(parent, "p").text = xml_safe(part.text)
            continue
        table = ET.SubElement(parent, "table")
        if part.caption:
            ET.SubElement(table, "caption").text = xml_safe(part.caption)
        head = ET.SubElement(ET.SubElement(table, "thead"), "tr")
        for column in part.columns:
            ET.SubElement(head, "th").text = xml_safe(column)
        body = ET.SubElement(table, "tbody")
        for row in part.rows:
            line = ET.SubElement(body, "tr")
            for cell in row:
                ET.SubElement(line, "td").text = xml_safe(cell)


def _interaction(body: ET.Element, question: Question, response: str, step: Step) -> None:
    prompt = xml_safe(step_prompt(question, step))
    if step.kind in (Kind.NUMBER, Kind.INTEGER):
        paragraph = ET.SubElement(body, "p")
        paragraph.text = prompt + " "
        ET.SubElement(paragraph, "textEntryInteraction", {"responseIdentifier": response, "expectedLength": "12"})
        return
    if step.kind is Kind.SELF_CHECK:
        free = {"responseIdentifier": response, "expectedLines": "8"}
        ET.SubElement(ET.SubElement(body, "extendedTextInteraction", free), "prompt").text = prompt
        return
    most = "0" if step.kind in SETS else "1"
    attributes = {"responseIdentifier": response, "shuffle": "false", "maxChoices": most}
    choice = ET.SubElement(body, "choiceInteraction", attributes)
    ET.SubElement(choice, "prompt").text = prompt
    for option in step.options:
        ET.SubElement(choice, "simpleChoice", identifier=option.id).text = xml_safe(option.text)


def _process(processing: ET.Element, response: str, step: Step) -> None:
    if step.kind is Kind.SELF_CHECK:
        return
    if step.kind in SETS:
        answered = ET.SubElement(ET.SubElement(processing, "responseCondition"), "responseIf")
        _variable(ET.SubElement(ET.SubElement(answered, "not"), "isNull"), response)
        ET.SubElement(_add_score(answered), "mapResponse", identifier=response)
    condition = ET.SubElement(processing, "responseCondition")
    right = ET.SubElement(condition, "responseIf")
    test = _comparison(right, step, step.tolerance)
    _variable(test, response)
    ET.SubElement(test, "correct", identifier=response)
    if step.kind not in SETS:
        _base(_add_score(right), "float", str(step.points))
    else:
        _say(right, "RIGHT")
    reach = step.tolerance if step.wrong_tolerance is None else step.wrong_tolerance
    for i, wrong in enumerate(step.wrong, start=1):
        branch = ET.SubElement(condition, "responseElseIf")
        test = _comparison(branch, step, reach)
        _variable(test, response)
        _expected(test, step, wrong.value)
        _say(branch, f"{response}-{i}")


def _comparison(parent: ET.Element, step: Step, tolerance: Fraction) -> ET.Element:
    if step.kind is Kind.NUMBER:
        both = " ".join([decimal(tolerance, 12)] * 2)
        return ET.SubElement(parent, "equal", {"toleranceMode": "absolute", "tolerance": both})
    if step.kind is Kind.INTEGER:
        return ET.SubElement(parent, "equal", {"toleranceMode": "exact"})
    return ET.SubElement(parent, "match")


def _expected(test: ET.Element, step: Step, value: Answer) -> None:
    if step.kind in SETS:
        several = ET.SubElement(test, "multiple")
        for id_ in _values(value):
            _base(several, "identifier", id_)
        return
    kind = {Kind.NUMBER: "float", Kind.INTEGER: "integer"}.get(step.kind, "identifier")
    _base(test, kind, _values(value)[0])


def _variable(parent: ET.Element, identifier: str) -> None:
    ET.SubElement(parent, "variable", identifier=identifier)


def _base(parent: ET.Element, base: str, text: str) -> None:
    ET.SubElement(parent, "baseValue", baseType=base).text = text


def _add_score(parent: ET.Element) -> ET.Element:
    total = ET.SubElement(ET.SubElement(parent, "setOutcomeValue", identifier="SCORE"), "sum")
    _variable(total, "SCORE")
    return total


def _say(parent: ET.Element, identifier: str) -> None:
    """Adds a feedback to those shown."""
    shown = ET.SubElement(ET.SubElement(parent, "setOutcomeValue", identifier="FEEDBACK"), "multiple")
    _variable(shown, "FEEDBACK")
    _base(shown, "identifier", identifier)


def _modal(item: ET.Element, identifier: str) -> ET.Element:
    attributes = {"outcomeIdentifier": "FEEDBACK", "identifier": identifier, "showHide": "show"}
    feedback = ET.SubElement(item, "modalFeedback", attributes)
    if identifier == "SOLUTION":
        feedback.set("title", _("Solution"))
    return feedback
