"""Does the table read like that of the incident, and is everything told that its figures rest on?"""

from __future__ import annotations

import json
from dataclasses import replace

from fuzzer.finding import Finding, FindingKind
from fuzzer.model import Role
from fuzzer.observation import Observation
from fuzzer.plans.speed import SpeedQuestion
from fuzzer.report.dossier import Dossier
from fuzzer.report.figures.measured import speeds
from fuzzer.report.speed import Arm, as_text, notes, rows, speed_object
from fuzzer.report.summary import Facts, summary
from fuzzer.store import Run, RunRecord
from targets.scrape import DraftCounts
from tests.unit.paces import taken

FINDING = Finding(FindingKind.NONE, "1 of 1 cells have figures", verified_up_to=8_000)
QUESTION = SpeedQuestion(lengths=(8_000,)).to_json()
RECORD = RunRecord("speed", (), "http://host:8000", "tiny", "vllm", "speed", "0.32.0", 1_048_576, QUESTION)
RUN = Run("1m8abc", RECORD, "2026-11-29T17:00:00.000Z", "sre", "box", "0.1.0", "done", finding=FINDING)
DRAFTED = DraftCounts(88, 616, 40)


def arm(name: str, speed: float, *, warm: bool = True, run: Run | None = RUN, draft: DraftCounts | None = None) -> Arm:
    """An arm whose five figures are 1 % apart."""
    warming = [taken(speed, Role.WARM_UP)] * 2 if warm else [taken(speed / 2, Role.WARM_UP), taken(speed, Role.WARM_UP)]
    figures = [taken(speed * factor, draft=draft) for factor in (1, 1.01, 1, 1.01, 1)]
    return Arm(name, f"http://{name}", run, [*warming, *figures] if run else [])


ARMS = (arm("target", 178.8, draft=DRAFTED), arm("no-drafter", 81.45), arm("old", 15.0))


def test_the_table_is_that_of_the_incident() -> None:
    head, row, legend = as_text(ARMS).splitlines()
    assert head.split("  ")[0].strip() == "length"
    assert " ".join(row.split()) == (
        "8,000 words 1 cold 15.1 -> 81.8 -> 179.5 11.92 (11.92 to 11.92) = 5.43 x 2.20 1.01 - -> - -> 1.45 "
        "0.50 s -> 0.50 s -> 0.50 s"
    )
    assert legend == "arms: old -> no-drafter -> target"


def test_without_a_control_there_is_no_ratio() -> None:
    (row,) = rows(ARMS[:1])
    assert (row.ratio, row.factors) == (None, ())
    assert list(notes(ARMS[:1])) == []


def test_a_provisional_figure_is_marked_and_explained() -> None:
    told = as_text([arm("target", 100, warm=False)])
    assert "100.4?" in told
    assert "target: provisional (?): the first-run effect was not seen to go (warm-ups: 2.50 s, 1.50 s)" in told


def test_a_bimodal_figure_is_marked_and_both_its_modes_are_told() -> None:
    both = [taken(100, Role.WARM_UP)] * 2 + [taken(speed) for speed in [50.0, 100.0, 100.0] * 5]
    told = as_text([Arm("target", "http://target", RUN, both)])
    assert "79.4*" in told
    assert "bimodal (*), an operational fact and not noise: 50.0 tok/s in 5 and 100.0 in 10 of 15" in told


def test_an_arm_that_could_not_be_begun_is_told() -> None:
    arms = (ARMS[0], arm("old", 15, run=None))
    assert "old has not come to its end" in as_text(arms)
    assert rows(arms)[0].ratio is None


def test_the_object_holds_arms_cells_and_the_finding() -> None:
    made = json.loads(json.dumps(speed_object(RUN, FINDING, list(ARMS[0].seen), 9.0, ARMS)))
    assert (made["schema"], made["finding"]) == ("ctxfuzz.speed/1", "none")
    assert [one["name"] for one in made["arms"]] == ["target", "no-drafter", "old"]
    (cell,) = made["cells"]
    assert (cell["length"], cell["content"], cell["concurrency"], cell["cache"]) == (8_000, "words", 1, "cold")
    assert [len(one["figures"]) for one in cell["arms"]] == [5, 5, 5]
    assert len(cell["factors"]) == 2
    assert cell["ratio"]["pairs"] == 5


def test_the_summary_recommends_no_cap() -> None:
    shown = summary(Facts(RUN, FINDING, list(ARMS[0].seen), 9.0, "runs.db"))
    assert shown.title == "Measured up to 8,000 prompt tokens"
    assert "cap" not in {label for label, _ in shown.rows}


def dossier(cap: int | None, seen: list[Observation]) -> Dossier:
    arms = (Arm("target", "http://target", RUN, seen),)
    return Dossier(RUN, seen, (), (), (), 9.0, "runs.db", arms=arms, cap=cap)


def test_speed_is_drawn_over_length_with_the_cap() -> None:
    seen = [one for length in (8_000, 64_000) for one in (
        replace(taken(100, Role.WARM_UP, length=length), incarnation=length),
        taken(100, Role.WARM_UP, length=length, incarnation=length),
        taken(100, length=length, incarnation=length),
    )]  # fmt: skip
    drawn = speeds(dossier(96_000, seen))
    assert drawn is not None
    (lane,) = drawn.lanes
    assert [mark.kind for mark in lane.marks] == ["reliable", "reliable"]
    assert lane.marks[0].x < lane.marks[1].x
    assert drawn.cap is not None
    assert lane.marks[1].x < drawn.cap.x
    far = speeds(dossier(1_000_000, seen))
    assert far is not None
    assert far.cap is None, "it would push all else into a corner"


def test_where_no_speed_was_measured_none_is_drawn() -> None:
    assert speeds(dossier(None, [])) is None
