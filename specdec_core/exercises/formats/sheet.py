"""A printable sheet: one HTML file without scripts or outside files, for paper or a browser's "save as PDF"."""

from collections.abc import Sequence

from specdec_core.exercises.formats.markup import escaped, parts_html, points_text, step_prompt
from specdec_core.exercises.question import Kind, Question, Step, answer_text
from specdec_core.words import _

_STYLE = """
:root { color-scheme: light; }
body { font: 11pt/1.45 Georgia, 'Noto Serif', 'DejaVu Serif', 'Liberation Serif', 'Noto Serif CJK SC', serif;
  color: #111; background: #fff;
  max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin: 1.6rem 0 .4rem; }
.name { display: flex; gap: 2rem; margin: 1rem 0; }
.name span { flex: 1; border-bottom: 1px solid #555; padding-top: 1.2rem; }
table { border-collapse: collapse; margin: .5rem 0; }
th, td { border: 1px solid #888; padding: .15rem .6rem; text-align: left; }
td { font-family: Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre-wrap; }
.prompt { font-weight: 600; margin: .6rem 0 .2rem; } .points { font-weight: 400; color: #444; }
ul.options { list-style: none; padding-left: .5rem; margin: .2rem 0; }
ul.options li::before { content: '\\2610'; padding-right: .5rem; }
.line { border-bottom: 1px solid #777; height: 1.6rem; max-width: 20rem; }
.lines { height: 8rem; border: 1px solid #999; }
.answer { border-left: 3px solid #111; padding-left: .6rem; margin: .3rem 0; }
section { break-inside: avoid; } .solution { border: 1px solid #888; padding: .2rem .8rem; margin-top: .6rem; }
@page { size: A4; margin: 18mm; }
@media print { body { max-width: none; margin: 0; padding: 0; } }
"""


def to_sheet(questions: Sequence[Question], title: str = "", answers: bool = False, language: str = "en") -> str:
    """The questions as an HTML document; with ``answers`` it is the key."""
    name = title or _("Exercises")
    shown = _("{title}: answers").format(title=name) if answers else name
    fields = "".join(f"<span>{escaped(field)}</span>" for field in (_("Name"), _("Date")))
    fields = "" if answers else f'<div class="name">{fields}</div>'
    body = "".join(_question(number, question, answers) for number, question in enumerate(questions, start=1))
    return (
        f'<!DOCTYPE html>\n<html lang="{escaped(language)}"><head><meta charset="utf-8"/>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
        f"<title>{escaped(shown)}</title><style>{_STYLE}</style></head>"
        f"<body><h1>{escaped(shown)}</h1>{fields}{body}</body></html>\n"
    )


def _question(number: int, question: Question, answers: bool) -> str:
    heading = escaped(_("{n}. {title}").format(n=number, title=question.title))
    steps = "".join(_step(question, step, answers) for step in question.steps)
    label = escaped(_("Solution"))
    solution = f'<div class="solution"><p><b>{label}</b></p>{parts_html(question.solution)}</div>' if answers else ""
    return f"<section><h2>{heading}</h2>{parts_html(question.stem)}{steps}{solution}</section>"


def _step(question: Question, step: Step, answers: bool) -> str:
    points = escaped(points_text(step.points)) if step.points else ""
    prompt = f'<p class="prompt">{escaped(step_prompt(question, step))} <span class="points">{points}</span></p>'
    options = "".join(f"<li>{escaped(option.text)}</li>" for option in step.options)
    listed = f'<ul class="options">{options}</ul>' if options else ""
    if answers:
        return prompt + listed + _answer(step)
    if options:
        return prompt + listed
    return prompt + ('<div class="lines"></div>' if step.kind is Kind.SELF_CHECK else '<div class="line"></div>')


def _answer(step: Step) -> str:
    if step.kind is Kind.SELF_CHECK:
        ideas = "".join(f"<li>{escaped(idea.text)}</li>" for idea in step.key_ideas)
        return f'<div class="answer"><ul>{ideas}</ul><p>{escaped(step.model_answer)}</p></div>'
    text = _("Answer: {answer}").format(answer=answer_text(step, step.answer))
    return f'<div class="answer"><p>{escaped(text)}</p></div>'
