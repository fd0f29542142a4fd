"""Export to Moodle XML.

Every step becomes one question, as in GIFT; hints and tags are carried too. Not carried: follow-through, the picture.
"""

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from fractions import Fraction

from specdec_core.exercises.formats.gift import feedback_for, share_of
from specdec_core.exercises.formats.markup import filter_proof, solution_html, step_question_html, xml_safe
from specdec_core.exercises.question import SETS, Kind, Question, Step
from specdec_core.exercises.values import decimal

_TYPES = {
    Kind.NUMBER: "numerical",
    Kind.INTEGER: "numerical",
    Kind.CHOICE: "multichoice",
    Kind.MULTI_CHOICE: "multichoice",
    Kind.TOKEN_LIST: "multichoice",
    Kind.SELF_CHECK: "essay",
}


def to_moodle_xml(questions: Sequence[Question], title: str = "") -> str:
    """The questions as a Moodle XML document."""
    quiz = ET.Element("quiz")
    if title:
        quiz.append(ET.Comment(" " + xml_safe(title).replace("-", "‐") + " "))
    category = ""
    for question in questions:
        if question.family != category:
            category = question.family
            _text(ET.SubElement(quiz, "question", type="category"), "category", f"$course$/{category}")
        for step in question.steps:
            _step(quiz, question, step)
    ET.indent(quiz)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(quiz, encoding="unicode") + "\n"


def _text(parent: ET.Element, tag: str, text: str, markup: bool = False) -> ET.Element:
    element = ET.SubElement(parent, tag, {"format": "html"} if markup else {})
    ET.SubElement(element, "text").text = xml_safe(text)
    return element


def _plain(parent: ET.Element, tag: str, text: str) -> None:
    ET.SubElement(parent, tag).text = text


def _step(quiz: ET.Element, question: Question, step: Step) -> None:
    kind = _TYPES[step.kind]
    item = ET.SubElement(quiz, "question", type=kind)
    _text(item, "name", f"{question.id} {step.name}")
    _text(item, "questiontext", step_question_html(question, step), markup=True)
    _text(item, "generalfeedback", solution_html(question, step), markup=True)
    _plain(item, "defaultgrade", str(step.points))
    _plain(item, "penalty", "0.3333333")
    _plain(item, "hidden", "0")
    if kind == "numerical":
        _numbers(item, step)
    elif kind == "multichoice":
        _options(item, step)
    else:
        _plain(item, "responseformat", "editor")
        _plain(item, "responserequired", "0")
        _plain(item, "responsefieldlines", "10")
        _plain(item, "attachments", "0")
        _plain(item, "attachmentsrequired", "0")
        _text(item, "graderinfo", solution_html(question, step), markup=True)
        _text(item, "responsetemplate", "", markup=True)
    for hint in step.hints if kind != "essay" else ():
        _text(item, "hint", filter_proof(hint), markup=True)
    tags = ET.SubElement(item, "tags")
    for tag in (*question.topics, question.thinking.value):
        _text(tags, "tag", tag)


def _answer(item: ET.Element, text: str, fraction: str, feedback: str, markup: bool) -> ET.Element:
    answer = ET.SubElement(item, "answer", {"fraction": fraction, "format": "html" if markup else "moodle_auto_format"})
    ET.SubElement(answer, "text").text = text
    _text(answer, "feedback", filter_proof(feedback), markup=True)
    return answer


def _numbers(item: ET.Element, step: Step) -> None:
    assert isinstance(step.answer, Fraction)
    reach = step.tolerance if step.wrong_tolerance is None else step.wrong_tolerance
    known = [(step.answer, "100", step.right, step.tolerance)]
    known += [(w.value, "0", w.feedback, reach) for w in step.wrong if isinstance(w.value, Fraction)]
    for value, fraction, feedback, tolerance in known:
        answer = _answer(item, decimal(value, 12), fraction, feedback, markup=False)
        _plain(answer, "tolerance", decimal(tolerance, 12))


def _options(item: ET.Element, step: Step) -> None:
    several = step.kind in SETS
    _plain(item, "single", "false" if several else "true")
    _plain(item, "shuffleanswers", "false")
    _plain(item, "answernumbering", "none")
    right = step.answer if isinstance(step.answer, tuple) else (step.answer,)
    for option in step.options:
        good = option.id in right
        if several:
            fraction = share_of(step) if good else "-" + share_of(step)
            chosen = tuple(o.id for o in step.options if o.id in {*right, option.id})
            feedback = "" if good else feedback_for(step, chosen)
        else:
            fraction = "100" if good else "0"
            feedback = step.right if good else feedback_for(step, option.id)
        _answer(item, filter_proof(option.text), fraction, feedback, markup=True)
