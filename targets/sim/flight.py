"""What does the engine know of one request while it is in its batch?"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

from targets.sim.failing import Rule
from targets.sim.rules import Value


@dataclass(slots=True)
class Request:
    """One generation, as the API server admitted it. `ids` is empty where only the count is known."""

    id: int
    prompt: int
    output: int  # to be generated
    asked: int  # max_tokens as asked
    ids: array[int]
    salt: str = ""
    stream: bool = False
    chat: bool = False
    finish: str = "length"


@dataclass(slots=True)
class Flight:
    """A request in the batch: its generator and what the rules made of it."""

    request: Request
    steps: Iterator[float] = field(default_factory=lambda: iter(()))
    names: dict[str, Value] = field(default_factory=dict)
    modifiers: list[Rule] = field(default_factory=list)
    draft_tokens: int = 0
    accepted: int = 0
    strayed: int = 0  # which other text it tells from now on; 0: the one that its prompt gets

    def modified(self, symptom: str) -> Rule | None:
        return next((rule for rule in self.modifiers if rule.symptom == symptom), None)
