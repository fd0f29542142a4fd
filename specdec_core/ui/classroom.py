"""What the students' page and the teacher's desk share: the classroom, its questions, its grader, times, errors.

Does not know: how either page looks.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, tzinfo
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit
from zoneinfo import ZoneInfo

import streamlit as st

from specdec_core.classroom import Classroom, ClassroomError, Grade, GradeStep
from specdec_core.classroom.settings import Settings
from specdec_core.exercises import Question, Result, grade, question_from_plain, variant
from specdec_core.ui.literal import literal
from specdec_core.words import _


def room() -> Classroom:
    """The one classroom of this process. Raises ClassroomError."""
    return _open(Settings.from_environment())


@st.cache_resource(show_spinner=False, max_entries=4)
def _open(settings: Settings) -> Classroom:
    # The settings are part of the key: in one process, tests open several classrooms.
    return Classroom.open(settings)


def told(error: ClassroomError) -> str:
    """The error's sentence in the language in use, to be shown as plain text."""
    return _(error.sentence.template).format(**error.sentence.values)


@contextmanager
def refusals() -> Iterator[None]:
    """Shows what the classroom refuses where it happens; the page goes on after it."""
    try:
        yield
    except ClassroomError as error:
        show_refusal(error)


def show_refusal(error: ClassroomError) -> None:
    """One refusal, as it is."""
    st.error(literal(told(error)), icon=":material/block:")


def source() -> str:
    """Where a try of a key or a code comes from: the browser's address; none is known on this very machine."""
    address = st.context.ip_address
    return address if isinstance(address, str) else "this machine"


def zone() -> tuple[tzinfo, str]:
    """The browser's time zone and its name; UTC where the browser or this machine does not know it."""
    name = st.context.timezone
    if not isinstance(name, str):
        return UTC, "UTC"
    try:
        return ZoneInfo(name), name
    except (KeyError, ValueError, OSError):  # no such zone, or a system without the table of zones
        return UTC, "UTC"


def when(moment: datetime) -> str:
    """A moment on the clock of whoever looks, with the zone's name."""
    where, name = zone()
    return f"{moment.astimezone(where):%Y-%m-%d %H:%M} {name}"


def exercises_link(**parameters: str) -> str:
    """The address of the exercises page of this server as the browser sees it, with ``parameters``."""
    url = st.context.url
    here = urlsplit(url if isinstance(url, str) else "http://localhost:8501/teachers_desk")
    folder = here.path.rstrip("/").rpartition("/")[0]
    return urlunsplit((here.scheme, here.netloc, f"{folder}/exercises", urlencode(parameters), ""))


def question_of(stored: Mapping[str, Any]) -> Question:
    """The question that a stored entry stands for. Raises ValueError when it cannot be made any more."""
    if "question" in stored:
        return question_from_plain(stored["question"])
    return variant(str(stored["family"]), int(stored["level"]), int(stored.get("seed", 0)))


def grader(question: Mapping[str, Any], answers: Any) -> Grade:
    """The bank's grading of a stored question, in the classroom's form."""
    return as_grade(grade(question_of(question), answers))


def as_grade(result: Result) -> Grade:
    """A graded question as the classroom stores it."""
    steps = tuple(
        GradeStep(s.name, float(s.points), s.max_points, (s.misconception,) if s.misconception else ())
        for s in result.steps
    )
    return Grade(float(result.score), result.max_points, steps)


def points(value: float) -> str:
    """Points without a tail of zeros: 3, 2.5, 1.33."""
    return f"{float(value):.2f}".rstrip("0").rstrip(".")


def state_word(state: str) -> str:
    """An assignment's state, as people say it."""
    return {
        "waiting": _("not open yet"),
        "open": _("open"),
        "closed": _("closed"),
        "revealed": _("solutions shown"),
    }[state]
