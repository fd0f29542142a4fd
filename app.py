"""Speculative decoding's acceptance step, on a screen. Start with ``streamlit run app.py`` or ``make app``."""

from specdec_core.ui.shell import run_app

run_app()
