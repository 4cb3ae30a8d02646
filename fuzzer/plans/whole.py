"""What if streams do not tell how many prompt tokens were read? PURE: then answers are asked whole.

That a server cuts prompts without a word shows in its own count alone, and some put one into whole answers only. So a
plan whose first good answer is a stream without a count is begun anew without streams, and its finding says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fuzzer.model import WELL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fuzzer.finding import Finding
    from fuzzer.model import ProbeSpec
    from fuzzer.observation import Observation
    from fuzzer.plans import Plan

Ask = Callable[[Any, Sequence["Observation"]], "Plan"]

ASKED_WHOLE = "streams did not tell how many prompt tokens were read, so whole answers were asked"


def counted(ask: Ask) -> Ask:
    """The same plan, that asks for whole answers where it must. Its question has a `stream`."""

    def plan(question: Any, facts: Sequence[Observation] = ()) -> Plan:  # noqa: ANN401  (of any kind)
        seen = list(facts)
        while True:
            whole = question.stream and asked_whole(seen)
            told = [one for one in seen if not (whole and one is _first_good(seen))]  # which is asked again
            asked = ask(replace(question, stream=False) if whole else question, told)
            try:
                spec = next(asked)
                while True:
                    seen.append((yield spec))
                    if question.stream and not whole and asked_whole(seen):
                        break
                    spec = asked.send(seen[-1])
            except StopIteration as end:
                finding: Finding = end.value
                return replace(finding, assumes=(*finding.assumes, *_said(seen, whole=whole)))

    return plan


def asked_whole(seen: Sequence[Observation]) -> bool:
    """Was the first good answer a stream that told no count? By that alone, so that no later one changes the terms."""
    first = _first_good(seen)
    return first is not None and first.spec.stream and is_untold(first)


def went_whole(seen: Sequence[Observation]) -> bool:
    """Were answers asked whole for that, in a run that was to stream them?"""
    return asked_whole(seen) and not all(one.spec.stream for one in seen)


def is_again(spec: ProbeSpec, seen: Observation) -> bool:
    """Is it the same question again, for a whole answer?"""
    return is_untold(seen) and seen.spec.stream and spec == replace(seen.spec, stream=False, reason=spec.reason)


def is_untold(seen: Observation) -> bool:
    """Is it an answer that passed, and did not tell how many prompt tokens were read?"""
    return _is_good(seen) and seen.length_source == "inferred"


def _first_good(seen: Sequence[Observation]) -> Observation | None:
    return next(filter(_is_good, seen), None)


def _is_good(seen: Observation) -> bool:
    return seen.outcome in WELL and seen.spec.stop_after is None


def _said(seen: Sequence[Observation], *, whole: bool) -> Iterator[str]:
    """What a finding rests on that is told by no count."""
    good = [one for one in seen if _is_good(one)]
    good = good[1:] if whole else good  # the first was asked again
    untold = sum(map(is_untold, good))
    if whole and untold < len(good):
        yield ASKED_WHOLE
    if untold:
        yield f"{untold} of {len(good)} good answers did not tell how many prompt tokens were read: prompts may be cut"
