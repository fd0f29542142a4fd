"""Lesson 2, one block: a table of candidates, the strip, and n_a built up from its formula."""

from specdec_core.ui.shell import begin_page

begin_page("one_block")

from specdec_core.ui.lesson_one_block import lesson

lesson()
