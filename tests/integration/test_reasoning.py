"""Can a search be looked at before it is run and after it: `plan`, `show --why`, the axis, and who is suspected?"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fuzzer.cli import main, opening, questions
from fuzzer.cli.common import CommonFlags
from fuzzer.model import Outcome, Role
from fuzzer.plans.question import BisectQuestion
from fuzzer.search import Suspect
from fuzzer.search.configured import NAMED
from fuzzer.store import History, RunRecord, Store
from targets.sim import running
from targets.sim.world import World
from tests import forked
from tests.integration.playing import play
from tests.integration.recorded import record

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
DRAFTER = World.from_dict(
    {
        "limit": {"tokens": 4096},
        "draft": {"k": 3, "acceptance_length": 1.45},
        "restart": {"delay_s": 0.1},
        "rules": [{"when": "P + O + K > 701", "symptom": "error"}],
    }
)


def ctxfuzz(*args: object) -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


@pytest.fixture
def drafter(tmp_path: Path) -> Path:
    folder = tmp_path / "drafter"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"text_config": {"max_position_embeddings": 700}}))
    return folder


async def test_the_axis_is_told_and_the_story_with_it(tmp_path: Path) -> None:
    db = tmp_path / "runs.db"
    async with running(DRAFTER) as simulation:
        flags = CommonFlags(url=simulation.url, db=db, mode="ids")
        suspects = (Suspect(700, "drafter's max_position_embeddings", NAMED),)
        result = await play(flags, lo=500, hi=900, suspects=suspects, confidence=0.5)
    finding = result.finding
    assert (finding.last_good, finding.first_bad) == (666, 667)
    assert finding.cause == "S - O - k + 1 with S = 700 (suspect: drafter's max_position_embeddings)"
    assert "it is constant in prompt + output + k (697 + 1 and 679 + 16 pass)" in finding.reason
    axis = [seen for seen in result.observations if seen.spec.role is Role.AXIS]
    assert [seen.outcome for seen in axis] == [Outcome.PASS, Outcome.PASS]
    told = ctxfuzz("show", "last", "--why", "--db", db)
    assert told.exit_code == 0
    assert told.stdout.count("  believed  ") == len(result.observations)
    assert "k is 3" in told.stdout
    assert "it passes if the edge is constant in prompt + output" in told.stdout
    assert told.stdout.rstrip().splitlines()[-1].startswith("  assumes   ")


def test_why_is_for_bisects_and_no_json(tmp_path: Path) -> None:
    db = tmp_path / "runs.db"
    record(db)
    hostile = ctxfuzz("show", "last", "--why", "--db", db)
    assert hostile.exit_code == 0
    assert "\x1b" not in hostile.stdout
    both = ctxfuzz("show", "last", "--why", "--json", "--db", db)
    assert both.exit_code == 2


def test_a_run_that_chose_no_length_has_nothing_to_explain(tmp_path: Path) -> None:
    db = tmp_path / "runs.db"
    with Store.open(db) as store:
        run = store.begin(RunRecord("sweep", ("ctxfuzz",), "http://h:1", "tiny", "vllm", "sweep", "1", 4096, {}, {}))
    told = ctxfuzz("show", "last", "--why", "--db", db)
    assert told.exit_code == 2
    assert f"Run {run} is a sweep: it chose no length" in told.stderr


def test_a_plan_needs_no_target(drafter: Path) -> None:
    shown = ctxfuzz("plan", "--lo", 200, "--hi", 900, "--draft-config", drafter, "--draft-tokens", 3)
    assert shown.exit_code == 0, shown.output
    assert "lo" in shown.stdout
    assert "likely to pass" in shown.stdout
    assert "700 (drafter's max_position_embeddings)" in shown.stdout
    assert "No probe was sent." in shown.stdout


def test_a_plan_for_machines_knows_what_a_suspect_saves(drafter: Path) -> None:
    bracket = ("plan", "--lo", 520, "--hi", 760, "--json", "--draft-tokens", 3)
    blind, told = (json.loads(ctxfuzz(*bracket, *more).stdout) for more in ((), ("--draft-config", drafter)))
    assert told["schema"] == "ctxfuzz.plan/1"
    assert told["expected_deaths"] < blind["expected_deaths"]
    assert {"length": 700, "name": "drafter's max_position_embeddings", "weight": NAMED} in told["suspects"]
    first = told["first_lengths"][0]
    assert 520 < first["length"] <= 760
    assert 0 < first["chance_to_pass"] < 1


def test_no_more_deaths_are_expected_than_may_be() -> None:
    bracket = ("plan", "--lo", 520, "--hi", 760, "--max-deaths", 0)
    shown, told = ctxfuzz(*bracket).stdout, json.loads(ctxfuzz(*bracket, "--json").stdout)
    assert "Expect about 0.0 engine deaths (at most 0)" in shown
    assert "it may end without one" in shown
    assert told["expected_deaths"] == 0
    assert "it may end without one" not in ctxfuzz("plan", "--lo", 520, "--hi", 760).stdout


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is no JSON. Name a config.json"),
        ("[]", "names no length"),
        ('{"hidden_size": 64}', "or the length itself with --suspect"),
        ("\x00\x01", "is no JSON"),
    ],
)
def test_a_configuration_that_tells_nothing_is_a_sentence(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / "config.json").write_text(content)
    shown = ctxfuzz("plan", "--lo", 200, "--hi", 900, "--model-config", tmp_path)
    assert shown.exit_code == 2
    assert words in shown.stderr


def test_a_directory_without_a_configuration_is_a_sentence(tmp_path: Path) -> None:
    shown = ctxfuzz("plan", "--lo", 200, "--hi", 900, "--draft-config", tmp_path)
    assert shown.exit_code == 2
    assert "config.json cannot be read: No such file or directory" in shown.stderr


def test_a_plan_without_room_is_a_sentence() -> None:
    shown = ctxfuzz("plan", "--lo", 900, "--hi", 200)
    assert shown.exit_code == 2
    assert "There is nothing to ask" in shown.stderr


async def test_what_the_target_tells_of_itself_is_suspected(tmp_path: Path) -> None:
    async with running(World.from_dict({"limit": {"tokens": 4096}, "cache": {"kv_tokens": 2700}})) as simulation:
        flags = CommonFlags(url=simulation.url, db=tmp_path / "runs.db")
        async with opening.opened(flags, sample_s=0.1) as opened:
            question = questions.to_bisect(opened, {"lo": 500, "hi": 900}, [Suspect(700, "--suspect", NAMED)])
    assert {suspect.value: suspect.name for suspect in question.suspects} == {700: "--suspect", 2700: "the KV capacity"}


async def test_what_bisect_is_told_of_its_search_is_recorded(tmp_path: Path, drafter: Path) -> None:
    async with running(DRAFTER) as simulation:
        command = [
            sys.executable, "-m", "fuzzer.cli", "bisect", "--url", simulation.url, "--lo", "500", "--hi", "900",
            "--strategy", "halving", "--no-attribute-axis", "--draft-config", str(drafter), "--suspect", "777",
            "--max-deaths", "0", "--confidence", "0.3", "-q",
        ]  # fmt: skip
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        ended = await forked.run_process(command, cwd=tmp_path, env=env)
    assert ended.returncode == 3, ended.stderr.decode()
    with History.open(tmp_path / "runs.db") as history:
        question = BisectQuestion.from_json(history.get("last").record.question)
    assert (question.strategy, question.attribute_axis) == ("halving", False)
    names = {suspect.value: suspect.name for suspect in question.suspects}
    assert names.items() >= {777: "--suspect", 700: "drafter's max_position_embeddings"}.items()
