"""What does a run know of those before it, where there are none?"""

from __future__ import annotations

from pathlib import Path

import pytest

import targets.sim
from fuzzer.cli import memory, questions, session
from fuzzer.cli.flags import CommonFlags
from targets.sim.world import World

pytestmark = pytest.mark.anyio


async def test_a_database_whose_maker_was_killed_is_no_obstacle(tmp_path: Path) -> None:
    """The file is there, and nothing is in it yet."""
    (tmp_path / "runs.db").touch()
    async with targets.sim.running(World.from_dict({"limit": {"tokens": 4096}})) as sim:
        flags = CommonFlags(url=sim.url, db=tmp_path / "runs.db")
        async with session.opened(flags, sample_s=0.1) as opened:
            question = questions.to_bisect(opened, {"lo": 100, "hi": 4000}, ())
            assert memory.remembered(opened, question) == (question, [])
            assert memory.last_cap(opened) is None
