"""The exercises page below its title: practice, or a class's assignment.

Does not know: either of the two.
"""

import streamlit as st

from specdec_core.ui import exercise_join
from specdec_core.ui.exercise_practice import practice
from specdec_core.ui.links import choice
from specdec_core.words import _


def exercises() -> None:
    """Practice unless a join code or a seat came with the link."""
    seat, code = exercise_join.arrived()
    titles = {"practise": _("Practise alone"), "class": _("Join a class")}
    way = choice(_("How"), titles, "do", default="class" if seat or code else "practise", label_visibility="collapsed")
    if way == "class":
        exercise_join.classroom(seat, code)
        return
    st.markdown(_("Pick an exercise and answer step by step. Feedback comes at once; nothing is stored on the server."))
    practice()
