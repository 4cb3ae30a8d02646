"""What do all tests share? The event loop that the program itself runs on, and how long a long fuzz is."""

from __future__ import annotations

import pytest
from hypothesis import settings

settings.register_profile("short", deadline=None)  # how long an example takes is the machine's business
settings.load_profile("short")
settings.register_profile("long", max_examples=3_000, deadline=None)  # pytest --hypothesis-profile=long


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
