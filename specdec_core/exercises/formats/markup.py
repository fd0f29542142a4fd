"""Escaping, and a question's parts as HTML: what the export formats have in common.

Every text is plain, and every character of it must come out as itself. Does not know: any one format.
"""

import html
import re
from collections.abc import Iterable

from specdec_core.exercises.question import Kind, Part, Question, Step, Table, Text
from specdec_core.words import _, ngettext

# What XML 1.0 cannot carry at all. Token texts have been made visible before; this is for all else.
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Text filters of course systems act on these even inside HTML: TeX ($$, \\(), emoticons (:-)), links ([[...]]).
_FILTERED = str.maketrans({c: f"&#{ord(c)};" for c in "$\\[]{}`*_~"})
_COLON = re.compile(r":(?=\S)")


def xml_safe(text: str) -> str:
    """``text`` without the characters that XML 1.0 forbids; each becomes the replacement character."""
    return _NO_XML.sub("\ufffd", text)


def escaped(text: str) -> str:
    """Plain text as HTML; line ends become ``<br/>``."""
    return html.escape(xml_safe(text)).replace("\n", "<br/>")


def filter_proof(text: str) -> str:
    """As ``escaped``, and so that a course system's text filters find nothing to act on."""
    return _COLON.sub("&#58;", escaped(text).translate(_FILTERED))


def table_html(table: Table, proof: bool = False) -> str:
    """A table as HTML."""
    text = filter_proof if proof else escaped
    caption = f"<caption>{text(table.caption)}</caption>" if table.caption else ""
    head = "".join(f"<th>{text(column)}</th>" for column in table.columns)
    body = "".join("<tr>" + "".join(f"<td>{text(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def parts_html(parts: Iterable[Part], proof: bool = False) -> str:
    """Paragraphs and tables as HTML."""
    text = filter_proof if proof else escaped
    return "".join(f"<p>{text(p.text)}</p>" if isinstance(p, Text) else table_html(p, proof) for p in parts)


def step_prompt(question: Question, step: Step) -> str:
    """A step's prompt as a plain sentence, with its number where there are several, and its tolerance."""
    number = [s.name for s in question.steps].index(step.name) + 1
    if len(question.steps) == 1:
        text = step.prompt
    else:
        text = _("Step {n} of {all}: {prompt}").format(n=number, all=len(question.steps), prompt=step.prompt)
    return f"{text} ({step.tolerance_text})" if step.tolerance_text else text


def points_text(points: int) -> str:
    """What a step or question is worth, in brackets."""
    return ngettext("({points} point)", "({points} points)", points).format(points=points)


def step_question_html(question: Question, step: Step) -> str:
    """Stem and one step, for formats in which every step is a question of its own."""
    return parts_html(question.stem, proof=True) + f"<p><b>{filter_proof(step_prompt(question, step))}</b></p>"


def solution_html(question: Question, step: Step | None = None) -> str:
    """The worked solution, and for free text its key ideas and a model answer."""
    out = parts_html(question.solution, proof=True)
    for s in [step] if step else question.steps:
        if s.kind is Kind.SELF_CHECK:
            ideas = "".join(f"<li>{filter_proof(idea.text)}</li>" for idea in s.key_ideas)
            out += f"<ul>{ideas}</ul><p>{filter_proof(s.model_answer)}</p>"
    return out
