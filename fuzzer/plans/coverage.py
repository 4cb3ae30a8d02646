"""What of all that a cap admits has been tried? PURE: counts of samples that passed, by what was special about them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fuzzer.model import WELL, Role
from fuzzer.observation import Observation
from fuzzer.plans.conditions import CONDITIONS
from fuzzer.search.places import RESIDUES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fuzzer.plans.samples import Grounds

MAGNITUDES = ((1_024, "to 1,024"), (8_192, "to 8,192"), (65_536, "to 65,536"), (262_144, "to 262,144"))


@dataclass(frozen=True, slots=True)
class Coverage:
    """`places` and `residues` are (covered, all); `passes` counts by condition and value, `prompt` among them."""

    samples: int
    passed: int
    places: tuple[int, int]
    residues: tuple[int, int]
    passes: Mapping[str, Mapping[str, int]]


def coverage(grounds: Grounds, seen: Iterable[Observation]) -> Coverage:
    """The coverage of a run's samples; what shrinks a failure is no sample."""
    sampled = [one for one in seen if one.spec.role is Role.FUZZ and one.outcome.is_evidence]
    passed = [one for one in sampled if one.outcome in WELL]
    lengths = {one.spec.length for one in passed}
    at_places = {place.length for part in grounds.places() for place in part}
    return Coverage(
        samples=len(sampled),
        passed=len(passed),
        places=(len(lengths & at_places), len(at_places)),
        residues=(len({length % RESIDUES for length in lengths}), RESIDUES),
        passes={
            "prompt": _counted(_magnitude(one.spec.length) for one in passed),
            **{each.name: _counted(each.value(one.spec) for one in passed) for each in CONDITIONS},
        },
    )


def _counted(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items(), key=lambda item: (-item[1], item[0])))


def _magnitude(length: int) -> str:
    return next((name for most, name in MAGNITUDES if length <= most), "longer")
