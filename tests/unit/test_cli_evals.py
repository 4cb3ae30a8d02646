"""Does `ctxfuzz same --eval` compare two results files, pair the samples beside them, and need no URL?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from fuzzer.cli import main

ITEMS = 600


def logged(folder: Path, right: int, *, stamp: str = "_2026-11-29T17-00-00.000000", samples: bool = False) -> Path:
    folder.mkdir()
    told: dict[str, Any] = {
        "results": {"arc": {"alias": "arc", "acc,none": right / ITEMS, "acc_stderr,none": 0.01}},
        "n-samples": {"arc": {"original": ITEMS, "effective": ITEMS}},
    }
    path = folder / f"results{stamp}.json"
    path.write_text(json.dumps(told))
    if samples:
        rows = [{"doc_id": at, "doc_hash": str(at), "filter": "none", "acc": float(at < right)} for at in range(ITEMS)]
        (folder / f"samples_arc{stamp}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return path


def same(*args: object) -> Result:
    return CliRunner().invoke(main, ["same", *map(str, args)])


def weighed(target: Path, control: Path) -> Result:
    return same("--eval", target, "--eval-control", control, "--json")


def test_equal_results_are_the_same(tmp_path: Path) -> None:
    done = weighed(logged(tmp_path / "a", 570), logged(tmp_path / "b", 570))
    told = json.loads(done.stdout)
    assert (done.exit_code, told["schema"], told["verdict"]) == (0, "ctxfuzz.same/1", "same")
    assert told["words"].endswith("600 items of arc cannot see under about 4.1 points")
    assert told["tasks"][0]["test"] == "two-proportions"


def test_samples_beside_the_files_are_paired(tmp_path: Path) -> None:
    done = weighed(logged(tmp_path / "a", 558, samples=True), logged(tmp_path / "b", 570, samples=True))
    (row,) = json.loads(done.stdout)["tasks"]
    assert done.exit_code == 1
    assert (row["test"], row["discordant"], row["verdict"]) == ("mcnemar-exact", [0, 12], "different")


def test_nothing_in_common_is_undecidable(tmp_path: Path) -> None:
    target, control = logged(tmp_path / "a", 558), logged(tmp_path / "b", 558)
    control.write_text(control.read_text().replace('"arc"', '"mmlu"'))
    assert weighed(target, control).exit_code == 3


@pytest.mark.parametrize("task", ["x" * 5_000, "../b/arc", "a\0b", "\ud800"])
def test_a_task_whose_name_names_no_file_has_no_samples(tmp_path: Path, task: str) -> None:
    target, control = (logged(tmp_path / name, 558, samples=True) for name in ("a", "b"))
    for path in (target, control):
        path.write_text(path.read_text().replace('"arc"', json.dumps(task)))
    done = weighed(target, control)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["tasks"][0]["test"] == "two-proportions"


@pytest.mark.parametrize("text", ["no JSON", "[]", '{"results": {}}', "[" * 100_000])
def test_another_file_is_a_usage_error_that_says_what_to_do(tmp_path: Path, text: str) -> None:
    other = tmp_path / "other.json"
    other.write_text(text)
    done = weighed(logged(tmp_path / "a", 558), other)
    assert done.exit_code == 2
    assert "other.json" in done.stderr
    assert "other.json" in json.loads(done.stdout)["error"]


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("--url", "http://127.0.0.1:9"),
        ("--control", "plain=http://127.0.0.1:9"),
        ("--url", "http://127.0.0.1:9", "--control", "plain=http://127.0.0.1:9", "--eval", __file__),
        ("--eval", __file__),
    ],
)
def test_half_a_question_is_a_usage_error(args: tuple[str, ...]) -> None:
    done = same(*args)
    assert done.exit_code == 2
    assert "Compare what?" in done.stderr
