"""What the lessons share: the question, typed numbers with a fitting word, the explanation, tasks, the way on.

A page says one thing at a time, top to bottom: question, picture, controls, explanation, "try this". A picture that
stands above the controls it depends on is drawn last, into a container made first.

Keys of bound widgets are names in the address that all pages share: give them names that no other page uses.

Does not know: what a lesson teaches.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction

import streamlit as st

from specdec_core.lessons.typed import read_probability
from specdec_core.ui.links import whole
from specdec_core.ui.literal import literal
from specdec_core.ui.pages import spec
from specdec_core.words import _, ngettext


@dataclass(frozen=True)
class Task:
    """Something to try. ``done``: whether what is on the screen does it. ``found``: what is worth noticing then.

    Texts are markdown; token texts in them go through ``literal``.
    """

    name: str
    text: str
    done: bool
    found: str


def question(text: str) -> None:
    """The one question of the page, right under its title."""
    st.markdown(f"## {text}")


@contextmanager
def explanation(title: str | None = None) -> Iterator[None]:
    """The words after the picture."""
    st.header(title or _("Why"), anchor=False)
    with st.container(width=860):
        yield


def try_this(page: str, tasks: Sequence[Task]) -> None:
    """Things to try, which notice by themselves when they are done, and stay done while the person is here."""
    key = f"{page}_tasks_done"
    done: frozenset[str] = st.session_state.get(key, frozenset()) | {t.name for t in tasks if t.done}
    st.session_state[key] = done
    count = sum(t.name in done for t in tasks)
    st.header(_("Try this"), anchor=False)
    with st.container(border=True, key=f"{page}_tasks"):
        st.markdown("\n\n".join(_task_line(task, task.name in done) for task in tasks))
        all_done = _("All done.") if count == len(tasks) else ""
        text = ngettext("{done} of {n} done.", "{done} of {n} done.", len(tasks)).format(done=count, n=len(tasks))
        st.caption(all_done or text)


def _task_line(task: Task, done: bool) -> str:
    if done:
        return f":material/check_circle: **{_('Done.')}** {task.text}  \n{task.found}"
    return f":material/radio_button_unchecked: {task.text}"


def begin_number(key: str, default: int, low: int, high: int) -> None:
    """The first value of a bound number field that callbacks change: the link's, or ``default``.

    The browser's Back, to an entry without it, gives the widget's own default instead: the lowest.
    """
    if key not in st.session_state:
        asked = st.query_params.get(key, "")
        st.session_state[key] = int(asked) if whole(low, high)(asked) else default


def probability_field(
    label: str,
    key: str,
    default: str,
    name: str,
    help: str | None = None,
    also: Callable[[Fraction], str] | None = None,
) -> Fraction | None:
    """A text field for a probability as people write it, bound to the address, with a word under it when it is none.

    name: the symbol in that word. also: a further check, which returns a plain sentence or "". Nothing stands in for a
    value that cannot be used: the result is None then.
    """
    text = st.text_input(label, default, key=key, bind="query-params", help=help)
    value, problem = read_probability(text or "", name)
    if value is not None and also is not None:
        problem = also(value)
    if problem:
        st.error(literal(problem), icon=":material/edit:")
        return None
    return value


def next_lesson(name: str) -> None:
    """The way on, once that page exists."""
    page = spec(name)
    try:
        st.page_link(page.file, label=_("Next: {title}").format(title=page.title), icon=":material/arrow_forward:")
    except (KeyError, st.errors.StreamlitAPIException):
        st.caption(_("Next: {title}").format(title=page.title))


def sources(*named: str) -> None:
    """Where the lesson's claims come from."""
    st.caption(_("Sources: {names}.").format(names="; ".join(named)))


BOOK_SOURCE = "Foundations of Large Language Models (Xiao and Zhu 2025), ch. 5"
LEVIATHAN_SOURCE = "Leviathan, Kalman and Matias 2023, arXiv:2211.17192"
CHEN_SOURCE = "Chen et al. 2023, arXiv:2302.01318"
