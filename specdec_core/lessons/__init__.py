"""What the lessons teach, as pure functions: what a page shows, its table, its sentence and its CSV come from here.

No streamlit and no plotly: the numeric layers, the words, and each other.
"""
