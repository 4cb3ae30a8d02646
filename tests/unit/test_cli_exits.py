"""Does every finding leave with the exit code that was promised?"""

from __future__ import annotations

import itertools

import pytest

from fuzzer.cli.exits import BY_HALT, Exit, exit_of
from fuzzer.finding import Finding, FindingKind, Halt

BOUNDARIES = [
    FindingKind.DEATH,
    FindingKind.ERROR,
    FindingKind.HANG,
    FindingKind.TRUNCATED,
    FindingKind.GARBLED,
    FindingKind.DEGRADED,
    FindingKind.CLEAN_LIMIT,
]


@pytest.mark.parametrize("kind", BOUNDARIES)
@pytest.mark.parametrize(
    ("cap", "require", "code"),
    [(8192, None, 0), (None, None, 0), (8192, 8192, 0), (8192, 8193, 1), (None, 1, 1)],
)
def test_a_boundary_is_an_answer_and_require_judges_its_cap(
    kind: FindingKind, cap: int | None, require: int | None, code: int
) -> None:
    assert exit_of(Finding(kind, "why", cap=cap, verified_up_to=10**9), require) == code


@pytest.mark.parametrize(
    ("up_to", "require", "code"), [(300_000, None, 0), (300_000, 300_000, 0), (300_000, 300_001, 1), (None, 1, 1)]
)
def test_without_a_failure_the_covered_ground_answers_require(
    up_to: int | None, require: int | None, code: int
) -> None:
    assert exit_of(Finding(FindingKind.NONE, "why", verified_up_to=up_to), require) == code


@pytest.mark.parametrize("require", [None, 1, 10**9])
@pytest.mark.parametrize("kind", [FindingKind.NOT_LENGTH, FindingKind.INCONCLUSIVE])
def test_no_answer_is_3_whatever_is_required(kind: FindingKind, require: int | None) -> None:
    assert exit_of(Finding(kind, "why", cap=8192), require) == Exit.INCONCLUSIVE


@pytest.mark.parametrize(("kind", "halt"), list(itertools.product(FindingKind, Halt)))
def test_why_it_halted_comes_first(kind: FindingKind, halt: Halt) -> None:
    lost = halt in {Halt.LOST, Halt.UNUSABLE}
    assert exit_of(Finding(kind, "why", cap=8192, halt=halt), 1) == (4 if lost else 3)


def test_every_halt_has_a_code() -> None:
    assert set(BY_HALT) == set(Halt)
