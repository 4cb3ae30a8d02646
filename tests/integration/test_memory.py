"""What does a run share with those before it: what they found, and not their prompts?"""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

import targets.sim
from fuzzer.cli import memory, opening, questions
from fuzzer.cli.common import CommonFlags
from fuzzer.finding import Finding, FindingKind
from fuzzer.store import History, StoreError
from targets.sim.world import World
from tests.integration.tampering import unguarded

pytestmark = pytest.mark.anyio


async def test_a_database_whose_maker_was_killed_is_no_obstacle(tmp_path: Path) -> None:
    """The file is there, and nothing is in it yet."""
    (tmp_path / "runs.db").touch()
    async with targets.sim.running(World.from_dict({"limit": {"tokens": 4096}})) as sim:
        flags = CommonFlags(url=sim.url, db=tmp_path / "runs.db")
        async with opening.opened(flags, sample_s=0.1) as opened:
            question = questions.to_bisect(opened, {"lo": 100, "hi": 4000}, ())
            assert memory.remembered(opened, question) == (question, [])
            assert memory.last_cap(opened) is None


async def test_a_changed_run_of_before_ends_in_a_sentence(tmp_path: Path) -> None:
    async with targets.sim.running(World.from_dict({"limit": {"tokens": 4096}})) as sim:
        flags = CommonFlags(url=sim.url, db=tmp_path / "runs.db")
        async with opening.opened(flags, sample_s=0.1) as opened:
            opened.record("fuzz", Finding(FindingKind.NONE, "nothing fails", verified_up_to=4000), {})
            question = questions.to_bisect(opened, {"lo": 100, "hi": 4000}, ())
            with unguarded(flags.db) as other:
                other.execute("UPDATE runs SET question_json = '{\"cap\": [5]}'")
            with pytest.raises(StoreError, match=r"is not as it was written .*row 1"):
                memory.remembered(opened, question)


async def test_prompts_are_drawn_from_the_seed_that_is_recorded(tmp_path: Path) -> None:
    """Else those of two runs would be the same, and a prefix cache would serve what is to be read cold."""
    seeds, bodies = [], []
    async with targets.sim.running(World.from_dict({"limit": {"tokens": 4096}})) as sim:
        for seed in (None, None, 7, 7):
            flags = CommonFlags(url=sim.url, db=tmp_path / "runs.db", seed=seed)
            async with opening.opened(flags, sample_s=0.1) as opened:
                asked = questions.to_sweep(opened, (100,), ("words",), keep_going=False)
                run = (await opened.run("sweep", questions.Asked("sweep", asked), [], anyio.Event())).run_row
            with History.open(tmp_path / "runs.db") as history:
                intent, *_ = history.intents(run.run)  # one that the cache knows already is asked again with another
            assert intent.recipe["seed"] == str(run.record.settings["seed"])
            seeds.append(run.record.settings["seed"])
            bodies.append(intent.body_sha256)
    assert seeds[0] != seeds[1]
    assert len(set(bodies)) == 3
    assert bodies[2] == bodies[3]
