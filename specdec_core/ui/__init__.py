"""Everything that imports streamlit. Nothing outside this package, app.py and pages/ does."""
