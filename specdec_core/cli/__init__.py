"""The engine without a screen: ``python -m specdec_core``, for scripts, slides and tests."""
