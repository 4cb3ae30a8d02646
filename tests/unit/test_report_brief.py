"""What does the end of a run leave out of a terminal?"""

from __future__ import annotations

from dataclasses import replace

from fuzzer.model import Outcome
from fuzzer.plans.bisect import BisectQuestion, bisect
from fuzzer.report.brief import brief
from fuzzer.report.summary import Summary
from tests.unit.worlds import Request, Rule, World, any_of, play, prompt_above

ROWS = (
    ("last good", "262,144"),
    ("set", "--max-model-len 262144"),
    ("why", "long"),
    ("evidence", "9 passes"),
    ("last words", '"CUDA error"'),
    ("assumes", "one"),
    ("", "two"),
)


def test_what_decides_stays_and_what_is_left_out_is_counted() -> None:
    shown = brief(Summary("Death", "bad", ROWS, ("next",)))
    assert [label for label, _ in shown.rows] == ["last good", "set", "evidence", "not shown"]
    assert "2 of 'assumes'" in shown.rows[-1][1]
    assert shown.commands == ("next",)


def test_what_is_not_decided_or_sets_nothing_keeps_its_reason() -> None:
    assert ("why", "long") in brief(Summary("Inconclusive", "unsure", ROWS, ())).rows
    assert ("why", "long") in brief(Summary("Death", "bad", (*ROWS[:1], *ROWS[2:]), ())).rows


def test_a_short_summary_is_left_as_it_is() -> None:
    shown = Summary("None", "good", (("required", "it holds"), ("", "and more"), ("sampled", "x")), ())
    assert brief(shown) == shown


def test_what_was_taken_on_trust_and_what_failed_and_passed_since_stays() -> None:
    asked = BisectQuestion(lo=8_000, hi=20_000)
    said = (
        *assumes(replace(asked, trust_lo=True, known_bad=(9_000,)), prompt_above(12_000)),
        *assumes(replace(asked, trust_hi=True, max_deaths=0), prompt_above(12_000)),
        *assumes(asked, any_of(once(64), prompt_above(9_001))),
    )
    shown = brief(
        Summary("Death", "bad", (("set", "x"), ("assumes", said[0]), *(("", words) for words in said[1:])), ())
    )
    kept = [text for label, text in shown.rows if label in {"assumes", ""}]
    assert [label for label, _ in shown.rows] == ["set", "assumes", *[""] * (len(kept) - 1), "not shown"]
    for words in (
        "lo (8000) was trusted",
        "hi (20000) was taken as known",
        "9000 killed this build",
        "is outweighed by",
    ):
        assert [text for text in kept if words in text], words
    assert f"{len(said) - len(kept)} of 'assumes'" in shown.rows[-1][1]
    assert not [text for text in kept if "not tried" in text]


def assumes(question: BisectQuestion, rule: Rule) -> tuple[str, ...]:
    return play(bisect(question), World(rule).answer).finding.assumes


def once(length: int) -> Rule:
    """So many tokens fail the first time that they come."""
    came: list[int] = []

    def rule(request: Request) -> Outcome | None:
        came.append(request.prompt)
        return Outcome.ERROR if request.prompt == length and came.count(length) == 1 else None

    return rule
