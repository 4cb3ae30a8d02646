"""Which of the world's rules strikes now?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from targets.sim.failing import MODIFIERS, At, Rule
from targets.sim.rules import Condition, Value


class Rulebook:
    """All rules of a world, parsed. `reads`: the variables that any of them needs."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        parsed = [(Condition(rule.when), rule) for rule in rules]
        self.reads = frozenset().union(*(condition.names for condition, _ in parsed))
        self._modifiers = [(condition, rule) for condition, rule in parsed if rule.symptom in MODIFIERS]
        self._failures = [(condition, rule) for condition, rule in parsed if rule.symptom not in MODIFIERS]

    def modifiers(self, names: Mapping[str, Value]) -> list[Rule]:
        """What is different about this request although it does not fail."""
        return [rule for condition, rule in self._modifiers if condition(names)]

    def strikes(self, at: At, names: Mapping[str, Value]) -> Rule | None:
        """The first failure that happens at this point."""
        for condition, rule in self._failures:
            if at == rule.point and condition(names):
                return rule
        return None
