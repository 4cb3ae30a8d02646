"""What was searched: which tokens count, where are the ends of the edge, and where is each probe? PURE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fuzzer.model import Role, Side
from fuzzer.observation import Observation
from fuzzer.plans.turned import turned_seen
from fuzzer.report.asked import counts_output

if TYPE_CHECKING:
    from fuzzer.report.dossier import Dossier


@dataclass(frozen=True, slots=True)
class Place:
    """A probe on the line, at so many tokens."""

    at: int
    side: Side
    seen: Observation


@dataclass(frozen=True, slots=True)
class Searched:
    """The line that a run walked: tokens of the prompt, or of the output after a prompt that was held."""

    unit: Literal["prompt", "output"]
    good: int | None
    bad: int | None
    places: tuple[Place, ...]


def searched(of: Dossier) -> Searched:
    """The line, with its probes in the order in which they were sent. No corner of a cap is on one of outputs."""
    finding = of.run.finding
    if not counts_output(of.run):
        good, bad = (None, None) if finding is None else (finding.last_good, finding.first_bad)
        return Searched("prompt", good, bad, tuple(Place(seen.length, of.side(seen), seen) for seen in of.seen))
    good, bad = (None, None) if finding is None else (finding.last_good_output, finding.first_bad_output)
    line = [(seen, turned_seen(seen)) for seen in of.seen if seen.spec.role is not Role.CORNER]
    return Searched(
        "output", good, bad, tuple(Place(as_output.length, of.side(as_output), seen) for seen, as_output in line)
    )
