"""Start: what this is, and one real block to step through at once. Needs no model."""

from specdec_core.ui.shell import begin_page
from specdec_core.words import _

begin_page("start", _("How speculative decoding decides"))

from specdec_core.ui.start import lead, real_block, where_next

lead()
real_block()
where_next()
