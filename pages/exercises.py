"""Exercises: practise alone, or answer an assignment of a class."""

from specdec_core.ui.shell import begin_page

begin_page("exercises")

from specdec_core.ui.exercise_page import exercises

exercises()
