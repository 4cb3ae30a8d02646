"""Does a run whose disk fills up end with a sentence, and is all that was observed still there?"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from fuzzer.model import Outcome
from fuzzer.store import History, audit
from targets.sim import running
from targets.sim.world import World

if TYPE_CHECKING:
    from targets.sim import Simulation

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]

ROOT = Path(__file__).parents[2]
SLOW: dict[str, Any] = {
    "limit": {"tokens": 4096},
    "rules": [{"when": "P > 200", "symptom": "slow", "seconds": 1.0}],  # time to fill the disk in
}


def begun(folder: Path, *args: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "fuzzer.cli", *args],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


async def ended(process: subprocess.Popen[bytes]) -> tuple[str, str]:
    with anyio.fail_after(120):
        out, err = await anyio.to_thread.run_sync(process.communicate, None, abandon_on_cancel=True)
    return out.decode(), err.decode()


async def in_flight(simulation: Simulation) -> None:
    with anyio.fail_after(60):
        while not any(record.prompt_tokens > 200 for record in simulation.log):  # noqa: ASYNC110  (no event)
            await anyio.sleep(0.02)


async def test_a_disk_that_fills_up_in_the_middle_of_a_bisect_loses_nothing(tmp_path: Path) -> None:
    """Full means here: from the middle of a probe on, no file of the process may grow. Then there is room again."""
    db = tmp_path / "runs.db"
    async with running(World.from_dict(SLOW)) as simulation:
        asked = ("--lo", "200", "--hi", "201", "--tolerate", "0.9", "--output-tokens", "8")
        process = begun(tmp_path, "bisect", "--url", simulation.url, *asked, "--json")
        await in_flight(simulation)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        out, err = await ended(process)
        assert "Traceback" not in err
        assert "runs.db could not be read or written" in err
        assert "resume" in err
        assert (process.returncode, json.loads(out)["exit_code"]) == (2, 2)

        found = audit(db)
        with History.open(db) as history:
            run = history.get("last")
            kept, (left,) = history.observations(run.run), history.open_intents(run.run)
        assert (found.problems, found.unsealed, run.status) == ([], [run.run], "interrupted")
        assert left.spec.length > 200, "its intent had been committed; its outcome could not be"
        assert [seen.seq for seen in kept] == list(range(1, left.seq))

        out, err = await ended(process := begun(tmp_path, "resume", run.run, "--json"))
    assert process.returncode == 0, err
    assert json.loads(out)["finding"] == "none"
    assert (audit(db).problems, audit(db).unsealed) == ([], [])
    with History.open(db) as history:
        again = history.observations(run.run)
    assert [seen.spec for seen in again[: left.seq]] == [*(seen.spec for seen in kept), left.spec]
    assert [seen.outcome for seen in again[: left.seq]] == [Outcome.PASS] * len(kept) + [Outcome.ABANDONED]
