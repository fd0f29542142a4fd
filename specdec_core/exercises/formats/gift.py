"""Export to GIFT, the text format that Moodle and many other course systems read.

Every step becomes one question. Carried: right answers with tolerance, known wrong answers with their feedback, partial
credit for sets, the worked solution as general feedback. Not carried: hints, follow-through, the picture.
"""

from collections.abc import Sequence
from fractions import Fraction

from specdec_core.exercises.formats.markup import filter_proof, solution_html, step_question_html
from specdec_core.exercises.question import SETS, Answer, Kind, Question, Step
from specdec_core.exercises.values import decimal

_RESERVED = str.maketrans({c: "\\" + c for c in "\\#=~{}:"} | {"\n": "\\n", "\r": ""})


def to_gift(questions: Sequence[Question], title: str = "") -> str:
    """The questions as GIFT text (UTF-8)."""
    out: list[str] = [f"// {' '.join(title.split())}\n"] if title else []
    category = ""
    for question in questions:
        if question.family != category:
            category = question.family
            out.append(f"$CATEGORY: Speculative decoding/{category}\n")
        out += [_step(question, step) for step in question.steps]
    return "\n".join(out)


def share_of(step: Step) -> str:
    """What one right mark of a set is worth, in percent with five places, as Moodle's list of grades has it."""
    assert isinstance(step.answer, tuple)
    return decimal(Fraction(100, len(step.answer)), 5)


def feedback_for(step: Step, answer: Answer) -> str:
    """The feedback of a known wrong answer, or ""."""
    return next((wrong.feedback for wrong in step.wrong if wrong.value == answer), "")


def _escape(markup: str) -> str:
    return markup.translate(_RESERVED)


def _html(text: str) -> str:
    return "[html]" + _escape(filter_proof(text))


def _says(feedback: str) -> str:
    # An empty feedback is left out: some readers take no empty one.
    return "#" + _html(feedback) if feedback else ""


def _step(question: Question, step: Step) -> str:
    name = _escape(f"{question.id} {step.name}")
    lines = [f"::{name}::[html]{_escape(step_question_html(question, step))}{{{'#' if _numeric(step) else ''}"]
    if _numeric(step):
        lines += _numbers(step)
    elif step.kind is Kind.CHOICE:
        lines += _choices(step)
    elif step.kind in SETS:
        lines += _marks(step)
    lines.append(f"\t####[html]{_escape(solution_html(question, step))}")
    return "\n".join(lines) + "\n}\n"


def _numeric(step: Step) -> bool:
    return step.kind in (Kind.NUMBER, Kind.INTEGER)


def _numbers(step: Step) -> list[str]:
    assert isinstance(step.answer, Fraction)
    lines = [f"\t={decimal(step.answer, 12)}:{decimal(step.tolerance, 12)}{_says(step.right)}"]
    reach = step.tolerance if step.wrong_tolerance is None else step.wrong_tolerance
    for wrong in step.wrong:
        if isinstance(wrong.value, Fraction):
            lines.append(f"\t=%0%{decimal(wrong.value, 12)}:{decimal(reach, 12)}{_says(wrong.feedback)}")
    return lines


def _choices(step: Step) -> list[str]:
    lines = []
    for option in step.options:
        right = option.id == step.answer
        says = step.right if right else feedback_for(step, option.id)
        lines.append(f"\t{'=' if right else '~'}{_html(option.text)}{_says(says)}")
    return lines


def _marks(step: Step) -> list[str]:
    assert isinstance(step.answer, tuple)
    share = share_of(step)
    lines = []
    for option in step.options:
        right = option.id in step.answer
        # A set with just this mark too many has feedback of its own; elsewhere GIFT has no place for a set's feedback.
        chosen = tuple(o.id for o in step.options if o.id in {*step.answer, option.id})
        says = "" if right else feedback_for(step, chosen)
        lines.append(f"\t~%{'' if right else '-'}{share}%{_html(option.text)}{_says(says)}")
    return lines
