"""Does each mark of the figures stand where the probe was, on the line that was searched?"""

from __future__ import annotations

from dataclasses import replace

from fuzzer.model import Role
from fuzzer.observation import Observation
from fuzzer.plans.bisect import BisectQuestion, bisect
from fuzzer.report.dossier import Dossier
from fuzzer.report.figures.measured import acceptance
from fuzzer.report.figures.search import Narrowing, narrowing, strip
from fuzzer.store import Run, RunRecord
from targets.scrape import DraftCounts
from tests.unit.worlds import World, play, total_above

PROMPTS = BisectQuestion(lo=500, hi=4_000)
OUTPUTS = BisectQuestion(lo=500, hi=4_000, axis="output", prompt_tokens=200)


def recorded(question: BisectQuestion, world: World) -> Dossier:
    played = play(bisect(question), world.answer)
    record = RunRecord("bisect", (), "http://host", "m", "vllm", "bisect", question=question.to_json())
    run = Run("1m8abc", record, "2026-11-29T17:00:00.000Z", "sre", "box", "0.1.0", "done", finding=played.finding)
    return Dossier(run, played.log, (), (), (), 9.0, "runs.db")


def closes(drawn: Narrowing) -> bool:
    """Does the band end at the edge, with every pass on its left and every failure on its right?"""
    last = drawn.steps[-1]
    assert drawn.edge is not None
    assert last.low is not None
    searched = [step for step in drawn.steps if not step.name.endswith((Role.CORNER, Role.AXIS))]
    sides = {(step.mark.kind, step.mark.x < drawn.edge) for step in searched}
    return last.low < drawn.edge < last.high < 700 and sides == {("pass", True), ("death", False)}


def test_a_search_over_prompts_is_drawn_over_prompts() -> None:
    of = recorded(PROMPTS, World(total_above(2_048)))
    line = strip(of)
    assert line.unit == "prompt"
    assert len(line.marks) == len(of.seen)
    assert [flag.label for flag in line.flags] == ["edge 2,016 | 2,017"]
    assert closes(narrowing(of))


def test_a_search_over_outputs_is_drawn_over_outputs_without_the_corners_of_its_cap() -> None:
    of = recorded(OUTPUTS, World(total_above(2_048)))
    asked = [seen.spec.output_tokens for seen in of.seen if seen.spec.role is not Role.CORNER]
    line = strip(of)
    assert line.unit == "output"
    assert [flag.label for flag in line.flags] == ["edge 1,848 | 1,849"]
    top = max(asked)
    assert [mark.x for mark in line.marks] == [round(40 + 880 * output / top, 1) for output in asked]
    drawn = narrowing(of)
    assert closes(drawn)
    assert len(drawn.steps) == len(asked) < len(of.seen)
    assert drawn.steps[0].length == f"200 + {asked[0]}"


def test_an_output_that_was_clamped_bounds_the_band() -> None:
    of = recorded(OUTPUTS, World(limit=2_000, style="clamp"))
    clamped = [at for at, seen in enumerate(of.seen) if seen.clamped]
    assert clamped
    assert narrowing(of).steps[clamped[-1]].high < 700


def test_acceptance_over_outputs_knows_no_cap_which_is_a_sum() -> None:
    of = recorded(OUTPUTS, World(total_above(2_048)))
    drafted: list[Observation] = [replace(seen, draft=DraftCounts(10, 70, 4)) for seen in of.seen]
    drawn = acceptance(replace(of, seen=drafted, cap=1_024))
    assert drawn is not None
    assert (drawn.unit, drawn.cap) == ("output", None)
    assert len({mark.x for mark in drawn.marks}) > 3
    over_prompts = recorded(PROMPTS, World(total_above(2_048)))
    drafted = [replace(seen, draft=DraftCounts(10, 70, 4)) for seen in over_prompts.seen]
    of_prompts = acceptance(replace(over_prompts, seen=drafted, cap=1_024))
    assert of_prompts is not None
    assert (of_prompts.unit, of_prompts.cap is None) == ("prompt", False)
