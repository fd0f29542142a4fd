"""Lesson 1, one token: q, p and r by hand, and what a hundred draws do."""

from specdec_core.ui.shell import begin_page

begin_page("one_token")

from specdec_core.ui.lesson_one_token import lesson

lesson()
