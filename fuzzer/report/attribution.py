"""Is the drafter to blame? PURE: what the same length did to the same model served without it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from fuzzer.finding import FindingKind

if TYPE_CHECKING:
    from fuzzer.finding import Finding

Blame = Literal["drafter", "not-drafter", "undecided"]
SAYS_NOTHING = frozenset({FindingKind.INCONCLUSIVE, FindingKind.NOT_LENGTH, FindingKind.CLEAN_LIMIT})


@dataclass(frozen=True, slots=True)
class Control:
    """What `first_bad` did to one control. `finding` is None where it could not be asked; then `words` say why."""

    name: str
    url: str
    run: str | None
    finding: FindingKind | None
    words: str

    @classmethod
    def of(cls, name: str, url: str, run: str, finding: Finding | None) -> Control:
        if finding is None:
            return cls(name, url, run, None, "it was not asked to the end")
        return cls(name, url, run, finding.kind, finding.reason)


@dataclass(frozen=True, slots=True)
class Attribution:
    """All controls of one edge, at its `first_bad`, in tokens."""

    length: int
    controls: tuple[Control, ...]

    @property
    def blame(self) -> Blame:
        """The drafter if every control that says something passes; not the drafter if every one fails."""
        telling = {c.finding is FindingKind.NONE for c in self.controls if c.finding not in {None, *SAYS_NOTHING}}
        if telling == {True}:
            return "drafter"
        return "not-drafter" if telling == {False} else "undecided"

    @property
    def passed(self) -> str | None:
        """The URL of a control at which the length passes."""
        return next((control.url for control in self.controls if control.finding is FindingKind.NONE), None)

    @property
    def words(self) -> str:
        match self.blame:
            case "drafter":
                return f"the drafter (or its build) is the cause: without it {self.length} tokens pass"
            case "not-drafter":
                return f"not the drafter: without it {self.length} tokens fail too"
            case "undecided":
                return "the controls do not agree, or say nothing"

    def to_json(self) -> dict[str, Any]:
        """The finding's additional key `attribution`."""
        return {
            "blame": self.blame,
            "words": self.words,
            "length": self.length,
            "controls": [
                {
                    "name": control.name,
                    "url": control.url,
                    "run": control.run,
                    "finding": None if control.finding is None else control.finding.value,
                    "words": control.words,
                }
                for control in self.controls
            ],
        }
