"""Speculative decoding's acceptance step: the engine behind the visualizer.

Importing this package costs nothing: no numpy, torch or streamlit is loaded until a module that needs it is.
"""

__version__ = "0.1.0"
