"""Do the limits hold for a day, and does nothing grow? In virtual time: 24 hours and more, in seconds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from fuzzer.store import History, audit

ROOT = Path(__file__).parents[2]
DAY = 86_400.0
AWAY = 7_200.0  # the engine takes two hours to come back
GRACE = 6.0  # seconds after a failure in which it is looked at more often, and then some
WINDOW = 5.0


def played(folder: Path, asked: dict[str, object], **flags: object) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.integration.virtual_day", str(folder), json.dumps(asked), json.dumps(flags)]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def busiest(times: list[float]) -> float:
    """Requests a second in the busiest window."""
    first, most = 0, 0
    for last, at in enumerate(times):
        while times[first] < at - WINDOW:
            first += 1
        most = max(most, last - first + 1)
    return most / WINDOW


def calm(times: list[float], failures: list[float]) -> list[float]:
    """Those outside every failure's grace."""
    return [at for at in times if not any(failure <= at <= failure + GRACE for failure in failures)]


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("day")
    return folder, played(folder, {"max_time_s": DAY, "max_deaths": 99}, death_spacing_s=12_600)


def test_after_a_day_no_probe_leaves(day: tuple[Path, dict[str, Any]]) -> None:
    folder, told = day
    assert told["halt"] == "max-time"
    searched = [probe for probe in told["probes"] if probe["role"] == "search"]
    assert all(probe["started_s"] < DAY for probe in searched)
    assert DAY < told["elapsed_s"] < DAY + 12_600 + 60, "the last death's own wait, and a corner"
    spacings = [later - earlier for earlier, later in pairwise(told["deaths"])]
    assert len(spacings) >= 5
    assert min(spacings) >= 12_600
    with History.open(folder / "runs.db") as history:
        assert len(history.deaths(history.get("last").run)) == len(told["deaths"])
    assert audit(folder / "runs.db").sound


def test_a_hang_ends_at_its_deadline(day: tuple[Path, dict[str, Any]]) -> None:
    _, told = day
    hangs = [probe for probe in told["probes"] if probe["outcome"] == "hang"]
    assert hangs
    assert all(60 < probe["over_s"] - probe["started_s"] < 60 + GRACE for probe in hangs)


def test_nothing_grows_in_a_day(day: tuple[Path, dict[str, Any]]) -> None:
    _, told = day
    sizes = [size for size, probe in zip(told["sizes"], told["probes"], strict=True) if probe["outcome"] == "death"]
    assert {size["tasks"] for size in sizes} == {1}
    assert len({size["files"] for size in sizes}) == 1
    assert sizes[-1]["kilobytes"] - sizes[0]["kilobytes"] < 4_096


def test_a_dead_engine_is_asked_for_at_most_twice_a_second(day: tuple[Path, dict[str, Any]]) -> None:
    """While it is waited for: all requests, the canaries among them. Health at all times, but for a failure's grace."""
    _, told = day
    hung = [probe["over_s"] - GRACE for probe in told["probes"] if probe["outcome"] == "hang"]
    began = told["requests"][0]
    failures = [*told["deaths"], *(began + at for at in hung)]
    assert busiest(calm(told["polls"], failures)) <= 2
    waiting = [at for at in calm(told["requests"], failures) if any(d <= at <= d + AWAY for d in told["deaths"])]
    assert len(waiting) > 10_000
    assert busiest(waiting) <= 2


def test_the_budget_of_deaths_holds_however_long_each_takes(tmp_path: Path) -> None:
    told = played(tmp_path, {"max_deaths": 3}, death_spacing_s=30_000)
    assert (told["halt"], len(told["deaths"])) == ("max-deaths", 3)
    assert told["elapsed_s"] > DAY
