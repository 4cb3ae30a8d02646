"""Is a recorded probe sent again byte for byte, and is it told whether its outcome repeats?"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from fuzzer.cli.common import CommonFlags
from fuzzer.store import History, audit
from targets.sim import running
from targets.sim.world import World
from tests import forked
from tests.integration.playing import play
from tests.integration.tampering import forged

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parent.parent.parent
SMALL = {
    "limit": {"tokens": 4096},
    "restart": {"delay_s": 0.1},
    "rules": [{"when": "P > 300", "symptom": "death", "last_words": "CUDA error"}],
}
WELL = {**SMALL, "rules": []}


async def quick(folder: Path, *args: str) -> subprocess.CompletedProcess[bytes]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "sk-very-secret"}
    return await forked.run_process([sys.executable, "-m", "tests.chaos.quick", *args], cwd=folder, env=env)


@pytest.fixture
async def died(tmp_path: Path) -> str:
    """A run in which a probe killed the engine: RUN:NUMBER of that one. Its simulator is gone since."""
    async with running(World.from_dict(SMALL)) as simulation:
        flags = CommonFlags(url=simulation.url, db=tmp_path / "runs.db", seed=7)
        result = await play(flags, lo=200, hi=400, resolution=64, confidence=0.5)
    seq = next(seen.seq for seen in result.observations if seen.deaths)
    return f"{result.run_row.run}:{seq}"


async def test_a_death_repeats_and_is_recorded_as_a_run_of_its_own(died: str, tmp_path: Path) -> None:
    async with running(World.from_dict(SMALL)) as simulation:
        done = await quick(tmp_path, "replay", died, "--url", simulation.url, "--json")
        assert done.returncode == 0, done.stderr.decode()
        told = json.loads(done.stdout)
        assert told["replay"] == {
            "run": died.partition(":")[0],
            "seq": int(died.partition(":")[2]),
            "was": "death",
            "is": "death",
            "repeats": True,
        }
        assert b"and it ended in: death (the engine died)" in done.stderr
        await simulation.up()
        assert simulation.deaths == 1
    with History.open(tmp_path / "runs.db") as history:
        run = history.get("last")
        (intent,) = history.intents(run.run)
        (before,) = [one for one in history.intents(died.partition(":")[0]) if one.seq == told["replay"]["seq"]]
        assert (run.record.command, run.deaths, run.status) == ("replay", 1, "done")
        assert intent.body_sha256 == before.body_sha256
    assert audit(tmp_path / "runs.db").sound


async def test_a_command_that_held_a_secret_is_asked_for_again_and_not_run(tmp_path: Path) -> None:
    helped = tmp_path / "helped"
    async with running(World.from_dict(SMALL)) as simulation:
        flags = CommonFlags(url=simulation.url, db=tmp_path / "runs.db", on_death="true --token pA55-7391")
        result = await play(flags, lo=200, hi=400, resolution=64, confidence=0.5)
        last = f"{result.run_row.run}:{next(seen.seq for seen in result.observations if seen.deaths)}"
        without = await quick(tmp_path, "replay", last)
        await simulation.up()
        again = await quick(tmp_path, "replay", last, "--on-death", f"touch {shlex.quote(str(helped))}")
    said = f"run {result.run_row.run} had a --on-death with a secret in it: the record keeps none"
    assert (without.returncode, again.returncode) == (0, 0)
    assert said in without.stderr.decode()
    assert "(give it again: --on-death CMD)" in without.stderr.decode()
    assert said not in again.stderr.decode()
    assert helped.exists()


async def test_what_does_not_repeat_is_bad_news(died: str, tmp_path: Path) -> None:
    async with running(World.from_dict(WELL)) as simulation:
        done = await quick(tmp_path, "replay", died, "--url", simulation.url)
    assert done.returncode == 1
    assert b"it does not repeat: it was death, and is pass" in done.stdout


async def test_what_told_nothing_then_cannot_be_compared(died: str, tmp_path: Path) -> None:
    with forged(tmp_path / "runs.db") as other:
        told_nothing = "json_set(observation_json, '$.outcome', 'abandoned', '$.deaths', 0)"
        other.execute(f"UPDATE outcomes SET observation_json = {told_nothing} WHERE seq = ?", (died.partition(":")[2],))
    async with running(World.from_dict(WELL)) as simulation:
        done = await quick(tmp_path, "replay", died, "--url", simulation.url, "--json")
    told = json.loads(done.stdout)
    assert done.returncode == 3
    assert (told["replay"]["was"], told["replay"]["is"], told["replay"]["repeats"]) == ("abandoned", "pass", None)
    assert "it was abandoned then; now it is: pass" in told["reason"]


async def test_to_another_model_nothing_is_sent(died: str, tmp_path: Path) -> None:
    async with running(World.from_dict({**SMALL, "model": "another"})) as simulation:
        done = await quick(tmp_path, "replay", died, "--url", simulation.url)
        assert done.returncode == 4
        assert simulation.log == []


async def test_other_bytes_are_not_sent(died: str, tmp_path: Path) -> None:
    with forged(tmp_path / "runs.db") as other:
        other.execute("UPDATE probes SET body_sha256 = ?", ("0" * 64,))
    async with running(World.from_dict(SMALL)) as simulation:
        done = await quick(tmp_path, "replay", died, "--url", simulation.url)
        assert done.returncode == 3
        assert b"The recipe makes other bytes now" in done.stderr
        assert not [record for record in simulation.log if record.max_tokens == 32]


async def test_a_deadly_probe_is_not_sent_unless_a_death_is_allowed(died: str, tmp_path: Path) -> None:
    async with running(World.from_dict(SMALL)) as simulation:
        refused = await quick(tmp_path, "replay", died, "--url", simulation.url, "--max-deaths", "0")
        assert refused.returncode == 2
        assert b"With --max-deaths 0 it is not sent" in refused.stderr
        planned = await quick(tmp_path, "replay", died, "--url", simulation.url, "--dry-run")
        assert planned.returncode == 0
        assert b"1.0 engine deaths" in planned.stdout
        assert not [record for record in simulation.log if record.max_tokens == 32]
        assert simulation.deaths == 0


async def test_where_no_death_is_allowed_a_later_one_on_record_is_heeded_too(tmp_path: Path) -> None:
    """What passed when it was recorded has killed the same build since."""
    told = {"version": "1", "model": "m"}
    async with running(World.from_dict(WELL | told)) as well:
        port, at = int(well.url.rpartition(":")[2]), ("probe", "400", "--url", well.url)
        assert (await quick(tmp_path, *at)).returncode == 0
    with History.open(tmp_path / "runs.db") as history:
        passed = f"{history.get('last').run}:2"
    again = ("replay", passed, "--max-deaths", "0")
    async with running(World.from_dict(WELL | told), port=port):
        assert (await quick(tmp_path, *again)).returncode == 0
    async with running(World.from_dict(SMALL | told), port=port) as simulation:
        await quick(tmp_path, *at)
        await simulation.up()
        refused = await quick(tmp_path, *again)
        assert (refused.returncode, b"400 tokens are not sent" in refused.stderr) == (3, True)
        assert simulation.deaths == 1


async def test_a_body_is_the_recorded_one_and_curl_sends_it(died: str, tmp_path: Path) -> None:
    run, _, seq = died.partition(":")
    with History.open(tmp_path / "runs.db") as history:
        (intent,) = [one for one in history.intents(run) if one.seq == int(seq)]
    async with running(World.from_dict(WELL)) as simulation:
        told = ("--url", simulation.url, "--header", "X-Key: s3cret", "-o", "my body.json")
        done = await quick(tmp_path, "body", died, *told)
    assert done.returncode == 0, done.stderr.decode()
    made = (tmp_path / "my body.json").read_bytes()
    assert hashlib.sha256(made).hexdigest() == intent.body_sha256
    assert len(made) == intent.body_bytes
    line = done.stderr.decode()
    assert "sk-very-secret" not in line
    assert "s3cret" not in line
    words = shlex.split(line)
    assert words[words.index("--data-binary") + 1] == "@my body.json"
    assert "Authorization: Bearer $OPENAI_API_KEY" in words
    assert words[-1] == f"{simulation.url}/v1/completions"
    assert (tmp_path / "runs.db").exists()


@pytest.mark.parametrize(
    ("probe", "words"), [("last", "is no probe; write RUN:NUMBER"), ("last:99", "has no probe 99")]
)
async def test_a_probe_that_is_none_is_said(died: str, probe: str, words: str, tmp_path: Path) -> None:
    done = await quick(tmp_path, "replay", probe)
    assert done.returncode == 2
    assert words in done.stderr.decode()
