"""Start: what this is, and one real block to step through at once."""

from specdec_core.ui.shell import begin_page

begin_page("start")

import streamlit as st
from specdec_core.trace import trace_from_json
from specdec_core.ui.stepper import stepper, step_fragment
from specdec_core.ui.shell import notation
tr=trace_from_json(open('/tmp/toy.json').read())
st.write("hello")
step_fragment(lambda: stepper(tr.prompt, tr.blocks[0], tr.settings.acceptance, notation(), picked="pick"))
