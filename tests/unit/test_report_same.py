"""Does a comparison read well to a person and a machine, and is what engines said harmless where it is shown?"""

from __future__ import annotations

import json

from fuzzer.measure.evals import Evals, Row, Test
from fuzzer.measure.sameness import Cell, Divergence, Needles, Sameness, Verdict
from fuzzer.measure.significance import Score
from fuzzer.report.same import Control, evals_object, evals_text, evals_words, same_object, same_text

EVIL = "\x1b[2J\u202e<script>" + "x" * 500
PARTED = Divergence(7, 30, f"before {EVIL}", EVIL, "plain words")
TOLD = Sameness(
    (
        Cell(64, "needle", Verdict.SAME, "identical", 128, "ids", needles=Needles("both", "neither")),
        Cell(900, "words", Verdict.DIFFERENT, "differs after 7 tokens", 7, "ids", PARTED),
    ),
    Verdict.DIFFERENT,
    "different in 1 of 2 cells that can be decided",
    noisy=0,
    repeated=4,
)
CONTROL = Control("plain", "http://plain:8000", None)
ROW = Row("gsm8k", "exact_match,strict", Score(420, 600), Score(450, 600), Test.PROPORTIONS, 0.05, 0.0704)


def test_the_table_shows_each_cell_and_the_words_around_a_divergence() -> None:
    lines = same_text(TOLD).splitlines()
    assert lines[0].split() == ["length", "content", "compared", "needles", "result"]
    assert lines[1].endswith("head: both, tail: neither  identical")
    assert lines[2].endswith("differs after 7 tokens")
    assert lines[3].startswith("900 words, after 7 tokens: ...before")
    assert lines[5] == "  control  ...plain words"
    assert lines[-1] == f"different: {TOLD.words}"


def test_what_engines_said_is_bounded_and_cannot_repaint_a_terminal() -> None:
    for shown in (same_text(TOLD), json.dumps(same_object(TOLD, CONTROL), ensure_ascii=False)):
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        assert "x" * 61 not in shown


def test_the_object_has_the_schemas_keys() -> None:
    told = same_object(TOLD, CONTROL)
    assert told["schema"] == "ctxfuzz.same/1"
    assert told["verdict"] == "different"
    assert told["control"] == {"name": "plain", "url": "http://plain:8000", "run": None}
    assert told["noise"] == {"contradicted": 0, "repeated": 4, "p": None}
    assert told["cells"][0]["needles"] == {"head": "both", "tail": "neither"}
    assert (told["cells"][1]["divergence"]["token"], told["cells"][1]["divergence"]["char"]) == (7, 30)


def test_the_table_of_evaluations_says_what_it_cannot_see() -> None:
    told = Evals((ROW,), ("only --eval has ours",))
    lines = evals_text(told).splitlines()
    assert lines[0] == "note: only --eval has ours"
    assert lines[1].split()[:5] == ["task", "metric", "target", "control", "points"]
    assert "70.00% of 600" in lines[2]
    assert "-5.00" in lines[2]
    assert lines[-1] == (
        "same: no significant difference in 1 comparison; 600 items of gsm8k cannot see under about 7.0 points"
    )
    assert evals_object(told)["verdict"] == "same"


def test_no_common_task_is_undecidable() -> None:
    assert evals_object(Evals(()))["verdict"] == "undecidable"
    assert evals_words(Evals(())).startswith("undecidable")
