"""Does a recorded run go the way that it went, and is nothing of a stranger's run, or sent a secret, unbidden?"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import click
import pytest

from fuzzer.cli import conduct, opening, questions
from fuzzer.cli.common import CommonFlags
from fuzzer.cli.memory import last_cap, remembered
from fuzzer.errors import Interrupted
from fuzzer.finding import Finding, FindingKind
from fuzzer.model import Outcome, Role
from fuzzer.observation import Observation
from fuzzer.plans.bisect import BisectQuestion
from fuzzer.store import History, Intent, RunRecord, Store
from fuzzer.store import store as recording
from tests import forked
from tests.integration.staging import QUICK, Stage, probe, staged

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parents[2]
KEY = "sk-planted-0815"
STRANGER = {"user": "colleague", "host": "elsewhere", "ctxfuzz_version": "0.1.0"}
PROFILE = '[targets.canary]\nurl = "http://127.0.0.1:9"\nheader = ["X-Canary: 1"]\n'


@pytest.fixture(autouse=True)
def begun_apart(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """What this process begins runs its own commands: in a folder in which nobody looks for theirs."""
    monkeypatch.chdir(tmp_path_factory.mktemp("begun"))


@pytest.fixture
def stranger(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this process records is recorded as somebody else's."""
    monkeypatch.setattr(recording, "who", lambda: STRANGER)


async def ctxfuzz(folder: Path, *args: str, key: str = "") -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": key, "COLUMNS": "1000"}
    command = [sys.executable, "-m", "tests.chaos.quick", *args]
    with anyio.fail_after(120):
        done = await forked.run_process(command, cwd=folder, env=env)
    return subprocess.CompletedProcess(args, done.returncode, done.stdout.decode(), done.stderr.decode())


async def interrupted(folder: Path, stage: Stage, notes: dict[str, object] | None = None, **told: Any) -> None:
    """A run on record that was stopped before its first probe left."""
    stop = anyio.Event()
    stop.set()
    flags = CommonFlags(**{"url": stage.url, "db": folder / "runs.db", "output_tokens": 8, **told})
    async with opening.opened(flags, pace=QUICK, sample_s=0.05) as opened:
        with pytest.raises(Interrupted):
            await opened.run("probe", questions.to_probe(opened, 200), (), stop, notes=notes or {})
    stage.heads.clear()


async def test_a_run_goes_on_by_the_query_that_led_to_its_engine(tmp_path: Path) -> None:
    async with staged() as stage:
        await interrupted(tmp_path, stage, url=f"{stage.url}/v1?backend=canary&api-version=2024-10-21")
        done = await ctxfuzz(tmp_path, "resume", "last")
        again = await ctxfuzz(tmp_path, "replay", "last:1")
        made = await ctxfuzz(tmp_path, "body", "last:1", "-o", "body.json")
    assert [one.returncode for one in (done, again, made)] == [0, 0, 0], (done.stderr, again.stderr, made.stderr)
    assert stage.lengths.count(64) == 2
    assert 200 in stage.lengths
    assert [head for head in stage.heads if b"?backend=canary&api-version=2024-10-21 HTTP" not in head] == []
    assert shlex.split(made.stderr)[-1] == f"{stage.url}/v1/completions?backend=canary&api-version=2024-10-21"


async def test_a_run_does_not_go_on_without_the_headers_that_led_to_its_engine(tmp_path: Path) -> None:
    (tmp_path / "ctxfuzz.toml").write_text(PROFILE)
    async with staged() as stage:
        await interrupted(tmp_path, stage, headers=(("X-Canary", "1"),))
        without = await ctxfuzz(tmp_path, "resume", "last")
        unfilled = await ctxfuzz(tmp_path, "resume", "last", "--header", "x-canary: ...")
        assert stage.heads == []
        done = await ctxfuzz(tmp_path, "resume", "last", "--target", "canary")
        lacking = await ctxfuzz(tmp_path, "replay", "last:1")
        again = await ctxfuzz(tmp_path, "replay", "last:1", "--header", "X-Canary: 1")
        made = await ctxfuzz(tmp_path, "body", "last:1", "--header", "X-Canary: 1", "-o", "body.json")
        assert [head for head in stage.heads if b"x-canary: 1" not in head] == []
        there = await ctxfuzz(tmp_path, "replay", "last:1", "--url", stage.url.replace("127.0.0.1", "localhost"))
    assert [one.returncode for one in (without, unfilled, lacking)] == [2, 2, 2]
    for refused in (without, lacking):
        assert "was begun with --header x-canary, and the record keeps no values" in refused.stderr
        assert "add --header 'x-canary: ...' to this command" in refused.stderr
    assert [one.returncode for one in (done, again, made, there)] == [0, 0, 0, 0], (done.stderr, again.stderr)
    assert "-H 'x-canary: '\"${HEADER_X_CANARY:?}\"" in made.stderr
    assert "was begun with --header 'x-canary: ...', and --url is asked without" in there.stderr


def test_the_line_that_resumes_names_the_headers(capsys: pytest.CaptureFixture[str]) -> None:
    flags = CommonFlags(url="http://h", headers=(("X-Canary", "1"),))
    with pytest.raises(click.exceptions.Exit):
        conduct.conclude(flags, Interrupted("1m8abc"))
    assert capsys.readouterr().err.endswith("Go on with: ctxfuzz resume 1m8abc --header 'x-canary: ...'\n")


async def test_a_record_of_before_that_names_no_headers_goes_on(tmp_path: Path) -> None:
    async with staged() as stage:
        asked = BisectQuestion(lo=200, hi=201, limit=4096, output_tokens=8).to_json()
        with Store.open(tmp_path / "runs.db") as store:
            record = RunRecord(
                "probe", (), stage.url, "m", "vllm", "probe", "0.30.0", 4096, asked, {"output_tokens": 8}
            )
            store.finish(store.begin(record), None, "interrupted", at_s=0.0)
        done = await ctxfuzz(tmp_path, "resume", "last")
    assert done.returncode == 0, done.stderr
    assert 200 in stage.lengths


async def test_what_one_way_led_to_is_not_known_of_another(tmp_path: Path) -> None:
    known: list[tuple[int | None, bool]] = []
    async with staged() as stage:
        ways: list[dict[str, Any]] = [
            {"url": f"{stage.url}/v1?backend=canary"},
            {"headers": (("X-Canary", "1"),)},
            {"api_key": KEY, "headers": (("X-Api-Key", KEY),), "url": f"{stage.url}?key={KEY}"},
            {},
        ]
        for way in ways:
            flags = CommonFlags(**{"url": stage.url, "db": tmp_path / "runs.db", **way})
            async with opening.opened(flags, pace=QUICK, sample_s=0.05) as opened:
                question = questions.to_bisect(opened, {"lo": 100, "hi": 1_100}, ())
                known.append((last_cap(opened), remembered(opened, question)[0].trust_hi))
            died_at_hi(flags, stage.url, question, cap=1_000 + len(known))
    assert known == [(None, False), (None, False), (None, False), (1_003, True)]  # who asks makes no other target


def died_at_hi(flags: CommonFlags, root: str, question: BisectQuestion, cap: int) -> None:
    """A run on record that found the engine to die of `hi`."""
    spec = question.spec(1_100, Role.SEARCH, "")
    record = RunRecord("bisect", (), root, "m", "vllm", "bisect", "0.30.0", 4096, question.to_json(), flags.settings())
    with Store.open(flags.db) as store:
        run = store.begin(record)
        store.intend(run, Intent(1, spec, 0.0, 1_100, "0" * 64, 5))
        store.complete(run, Observation(1, spec, Outcome.DEATH, 1_100, "usage", deaths=1), {})
        store.finish(run, Finding(FindingKind.DEATH, "dies", cap=cap, first_bad=1_100), "done", at_s=1.0)


@pytest.mark.usefixtures("stranger")
async def test_no_command_of_a_strangers_run_is_run_unbidden(tmp_path: Path) -> None:
    async with staged() as stage:
        touched: dict[str, Any] = {"on_death": "touch PWNED", "engine_log_cmd": "touch PWNED; echo"}
        await probe(tmp_path, stage, **touched)
        again = await ctxfuzz(tmp_path, "replay", "last:1")
        await interrupted(tmp_path, stage, **touched)
        refused = await ctxfuzz(tmp_path, "resume", "last")
        assert stage.heads == []
        assert not (tmp_path / "PWNED").exists()
        done = await ctxfuzz(tmp_path, "resume", "last", "--on-death", "", "--engine-log-cmd", "touch SAID")
    assert again.returncode == 0, again.stderr
    assert (
        "had a --engine-log-cmd (touch PWNED; echo) and was not begun here, and nothing is used in its" in again.stderr
    )
    assert refused.returncode == 2
    assert "was not begun here, but by colleague on elsewhere" in refused.stderr
    assert "On record: --on-death touch PWNED; --engine-log-cmd touch PWNED; echo" in refused.stderr
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "SAID").exists()


async def test_a_command_of_a_run_of_ours_is_told_before_it_is_run(tmp_path: Path) -> None:
    async with staged() as stage:
        await interrupted(tmp_path, stage, engine_log_cmd="touch HELPED")
        done = await ctxfuzz(tmp_path, "resume", "last", "--quiet")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[0] == "as recorded: --engine-log-cmd touch HELPED"
    assert (tmp_path / "HELPED").exists()


async def test_what_a_merge_brought_was_not_begun_here(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    async with staged() as stage:
        await interrupted(other, stage, engine_log_cmd="touch PWNED")
        with Store.open(tmp_path / "runs.db") as store:
            store.merge(other / "runs.db", ())
        done = await ctxfuzz(tmp_path, "resume", "last")
    assert done.returncode == 2
    assert "was not begun in this database, but brought by a merge" in done.stderr
    assert not (tmp_path / "PWNED").exists()


@pytest.mark.usefixtures("stranger")
async def test_no_secret_goes_where_only_a_stranger_said(tmp_path: Path) -> None:
    async with staged() as stage:
        await probe(tmp_path, stage)
        await interrupted(tmp_path, stage)
        with History.open(tmp_path / "runs.db") as history:
            last, before = (one.run for one in history.runs())
        refused = [
            await ctxfuzz(tmp_path, "body", f"{before}:1", key=KEY),
            await ctxfuzz(tmp_path, "replay", f"{before}:1", "--header", f"x-tenant: {KEY}"),
            await ctxfuzz(tmp_path, "resume", last, key=KEY),
        ]
        assert stage.heads == []
        made = await ctxfuzz(tmp_path, "body", f"{before}:1", "--url", stage.url, "-o", "body.json", key=KEY)
        said = await ctxfuzz(tmp_path, "resume", last, "--url", f"{stage.url}/", key=KEY)
        assert all(KEY.encode() in head for head in stage.heads)
        stage.heads.clear()
        bare = await ctxfuzz(tmp_path, "replay", f"{before}:1", "--json")  # with nothing at stake, it goes on as before
    assert [one.returncode for one in refused] == [2, 2, 2]
    assert all(f"add --url to this command. On record: --url {stage.url}" in one.stderr for one in refused)
    assert [one.returncode for one in (made, said, bare)] == [0, 0, 0], (made.stderr, said.stderr, bare.stderr)
    assert json.loads(bare.stdout)["replay"]["repeats"]


@pytest.mark.usefixtures("stranger")
async def test_nor_to_the_controls_that_a_stranger_named(tmp_path: Path) -> None:
    async with staged() as stage:
        await interrupted(tmp_path, stage, {"controls": [["plain", "http://127.0.0.1:9"]]})
        refused = await ctxfuzz(tmp_path, "resume", "last", "--url", stage.url, key=KEY)
    assert refused.returncode == 2
    assert "with controls, and your API key would go to their URLs too" in refused.stderr
    assert stage.heads == []
