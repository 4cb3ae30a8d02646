"""What do all tests share? The event loop that the program itself runs on, and how long a long fuzz is."""

from __future__ import annotations

import os
import sys

import pytest
from hypothesis import settings

from tests import forked

settings.register_profile("short", deadline=None)  # how long an example takes is the machine's business
settings.load_profile("short")
settings.register_profile("long", max_examples=3_000, deadline=None)  # pytest --hypothesis-profile=long

# Hundreds of tests start the program: where no bytecode may be written, each of them would compile all of it anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def pytest_sessionfinish() -> None:
    forked.stop()
