"""Under which conditions is a probe sent, and what is each of them when it is plain? PURE: one table.

What a fuzzer varies, what a reproducer can do without, and what coverage counts, are the rows of this table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from fuzzer.model import ProbeSpec
    from fuzzer.plans.terms import Terms


@dataclass(frozen=True, slots=True)
class Condition:
    """`value` puts a probe's condition in words, `plain` gives the probe with this condition as the terms have it."""

    name: str
    value: Callable[[ProbeSpec], str]
    plain: Callable[[ProbeSpec, Terms], ProbeSpec]


def _companions(spec: ProbeSpec) -> str:
    count = len(spec.companions)
    if not count:
        return "none"
    kind = "as long" if max(spec.companions) >= spec.length else "shorter"
    return f"{count}, {kind}"


def _cache(spec: ProbeSpec) -> str:
    return spec.cache if spec.shared is None else "partly warm"


def _asked(spec: ProbeSpec) -> str:
    if spec.omit_max_tokens:
        return "not said"
    return "more than is read" if spec.stop_after is not None else "what is read"


def _is_read(spec: ProbeSpec) -> bool:
    return not spec.omit_max_tokens and spec.stop_after is None


def _output(spec: ProbeSpec) -> str:
    if not _is_read(spec):
        return "not read to its end"
    steps = ((1, "1"), (16, "2 to 16"), (64, "17 to 64"), (256, "65 to 256"))
    return next((name for most, name in steps if spec.output_tokens <= most), "more")


def _said_and_read(spec: ProbeSpec, terms: Terms) -> ProbeSpec:
    if _is_read(spec):
        return spec
    return replace(spec, omit_max_tokens=False, stop_after=None, stream=terms.stream, output_tokens=terms.output_tokens)


# In the order in which a reproducer tries to do without them: what is most trouble to set up comes first.
CONDITIONS: tuple[Condition, ...] = (
    Condition("companions", _companions, lambda spec, _: replace(spec, companions=())),
    Condition("cache", _cache, lambda spec, _: replace(spec, cache="cold", shared=None)),
    Condition("content", lambda spec: spec.content, lambda spec, terms: replace(spec, content=terms.content)),
    Condition("max_tokens", _asked, _said_and_read),
    Condition("mode", lambda spec: spec.mode, lambda spec, terms: replace(spec, mode=terms.mode)),
    Condition("temperature", lambda spec: f"{spec.temperature:g}", lambda spec, _: replace(spec, temperature=0.0)),
    Condition(
        "stream",
        lambda spec: "yes" if spec.stream else "no",
        lambda spec, terms: spec if spec.stop_after is not None else replace(spec, stream=terms.stream),
    ),
    Condition(
        "output",
        _output,
        lambda spec, terms: replace(spec, output_tokens=min(spec.output_tokens, terms.output_tokens))
        if _is_read(spec)
        else spec,
    ),
)  # fmt: skip


def needed(spec: ProbeSpec, terms: Terms) -> list[Condition]:
    """The conditions of a probe that are not plain."""
    return [condition for condition in CONDITIONS if condition.plain(spec, terms) != spec]


def plain(spec: ProbeSpec, terms: Terms) -> ProbeSpec:
    """The probe with all its conditions plain: its length alone is left."""
    for condition in CONDITIONS:
        spec = condition.plain(spec, terms)
    return spec


def words(spec: ProbeSpec, terms: Terms) -> list[str]:
    """What is not plain about a probe, each in a few words."""
    return [f"{condition.name}: {condition.value(spec)}" for condition in needed(spec, terms)]
