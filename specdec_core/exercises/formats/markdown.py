"""Export to Markdown, with or without answers, for handouts and notebooks.

Every character of a text is escaped that some Markdown dialect acts on, math, emoji and HTML included.
"""

import re
from collections.abc import Sequence

from specdec_core.exercises.formats.markup import points_text, step_prompt, xml_safe
from specdec_core.exercises.question import Kind, Part, Question, Step, Text, answer_text
from specdec_core.words import _

_SPECIAL = re.compile(r"[\\`*_\[\]<>$~|&#{}^=!@]|:(?=\S)")
_START = re.compile(r"^(\s*)(?:([-+])|(\d+)([.)]))(?=\s|$)")


def escape(text: str) -> str:
    """Plain text as Markdown on one line."""
    line = " ".join(xml_safe(text).splitlines()).strip()  # four blanks in front would make it code
    line = _SPECIAL.sub(lambda match: "\\" + match[0], line)
    return _START.sub(lambda m: f"{m[1]}\\{m[2]}" if m[2] else f"{m[1]}{m[3]}\\{m[4]}", line)


def to_markdown(questions: Sequence[Question], title: str = "", answers: bool = False) -> str:
    """The questions as Markdown text."""
    out = [f"# {escape(title or _('Exercises'))}"]
    for number, question in enumerate(questions, start=1):
        out += _question(number, question, answers)
    return "\n\n".join(out) + "\n"


def _question(number: int, question: Question, answers: bool) -> list[str]:
    heading = _("{n}. {title} {points}").format(n=number, title=question.title, points=points_text(question.max_points))
    out = [f"## {escape(heading)}", *_parts(question.stem)]
    for step in question.steps:
        out.append(f"**{escape(step_prompt(question, step))}**")
        if step.options:
            out.append("\n".join(f"- ☐ {escape(option.text)}" for option in step.options))
        if answers:
            out += _answer(step)
    if answers:
        out += [f"**{escape(_('Solution'))}**", *_parts(question.solution)]
    return out


def _answer(step: Step) -> list[str]:
    if step.kind is Kind.SELF_CHECK:
        ideas = "\n".join(f"- {escape(idea.text)}" for idea in step.key_ideas)
        return [f"*{escape(_('Key ideas'))}*", ideas, escape(step.model_answer)]
    known = [f"*{escape(_('Answer: {answer}').format(answer=answer_text(step, step.answer)))}*"]
    mistakes = [
        escape(_("{answer}: {feedback}").format(answer=answer_text(step, wrong.value), feedback=wrong.feedback))
        for wrong in step.wrong
    ]
    return [*known, "\n".join(f"- {mistake}" for mistake in mistakes)] if mistakes else known


def _parts(parts: Sequence[Part]) -> list[str]:
    out = []
    for part in parts:
        if isinstance(part, Text):
            out.append(escape(part.text))
            continue
        rows = [part.columns, *part.rows]
        lines = ["| " + " | ".join(escape(cell) or " " for cell in row) + " |" for row in rows]
        lines.insert(1, "|" + " --- |" * len(part.columns))
        out += [escape(part.caption)] if part.caption else []
        out.append("\n".join(lines))
    return out
