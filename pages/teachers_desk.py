"""Teacher's desk: compose assignments, watch answers arrive, reveal, export, delete."""

from specdec_core.ui.shell import begin_page

begin_page("teachers_desk")

from specdec_core.ui.desk_page import teachers_desk

teachers_desk()
