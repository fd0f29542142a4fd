"""The embedded pair, loaded once for all tests that run it, on the device that ``SPECDEC_TEST_DEVICE`` names.

Import the fixtures by name. Tests that use them carry the mark ``real_pair``, which skips them where it is missing.
"""

import functools
import os
from typing import Any

import pytest

from specdec_core.models.protocol import Pair

DEVICE = os.environ.get("SPECDEC_TEST_DEVICE", "cpu")


@functools.cache
def load(dtype: str | None = "float32") -> Pair:
    from specdec_core.models.pairs import load_pair

    return load_pair("embedded", DEVICE, dtype)


@functools.cache
def load_reference() -> Any:
    """transformers' own module of the target, in float32: what ours is held against."""
    from specdec_core.models import embedded

    return embedded.load_target(device=DEVICE)


@pytest.fixture(scope="session")
def real_pair() -> Pair:
    """The embedded pair in float32."""
    return load()


@pytest.fixture(scope="session")
def reference() -> Any:
    """The target as a transformers module in float32."""
    return load_reference()
