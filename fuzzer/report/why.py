"""Why did a bisect ask what it asked? PURE: the record replayed, step by step, with what was believed and learnt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.model import Outcome, Role
from fuzzer.plans.narrowing import belief_of, suspects_of
from fuzzer.plans.scout import Stages
from fuzzer.report.plain import plain
from fuzzer.report.words import plural, span, tokens
from fuzzer.search import cause_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fuzzer.finding import Finding
    from fuzzer.model import ProbeSpec
    from fuzzer.observation import Observation
    from fuzzer.plans.ledger import Ledger
    from fuzzer.plans.line import Bounds
    from fuzzer.plans.question import BisectQuestion


def why(question: BisectQuestion, seen: Sequence[Observation], finding: Finding | None) -> Iterator[str]:
    """Four lines a probe, then the finding with all that it rests on."""
    stages = Stages(question)
    for one in seen:
        ledger, spec = stages.current, stages.as_seen(one).spec
        warm = ", warm" if spec.cache == "warm" else ""
        yield f"#{one.seq} {spec.role}: {tokens(one.spec.length)} prompt tokens + {one.spec.output_tokens}{warm}"
        yield f"  believed  {_believed(ledger, spec.length)}"
        yield f"  because   {plain(spec.reason)}{_why_there(ledger, spec)}"
        yield f"  cost      {_cost(one)}"
        before, k = ledger.bounds, ledger.draft_tokens
        stages.take(one)
        learnt = [_showed(ledger, stages.as_seen(one)), *_moved(before, ledger.bounds)]
        if ledger.draft_tokens != k:
            learnt.append(f"k is {ledger.draft_tokens}")
        yield f"  learnt    {'; '.join(learnt)}"
    yield from _conclusion(finding)


def _believed(ledger: Ledger, length: int) -> str:
    """The bracket, and the chance to pass of a length inside it."""
    bounds = ledger.bounds
    words = _bracket(bounds)
    if not ledger.evidence or bounds.noisy or not bounds.low < length < bounds.high:
        return words
    chance = belief_of(ledger.question, ledger.draft_tokens).survival(bounds.low, bounds.high, length)
    return f"{words}; {tokens(length)} is {chance:.0%} likely to pass"


def _why_there(ledger: Ledger, spec: ProbeSpec) -> str:
    """Of a length that the search chose: the suspect that it tries, and what a failure was reckoned to cost."""
    bounds, question = ledger.bounds, ledger.question
    if spec.role is not Role.SEARCH or bounds.noisy or not bounds.low < spec.length < bounds.high:
        return ""
    if spec.length in ledger.hint:
        return ""
    if question.strategy == "halving":
        return "; the top may settle it all" if spec.length == question.top else "; this is its middle"
    good, bad = ledger.search_price(spec.length)
    words = f"; most is learnt there for its price, a failure being {bad / good:.0f} times as dear as a pass"
    edges = (spec.length - 1, spec.length)
    causes = (cause_of(edge, suspects_of(question), question.output_tokens, ledger.draft_tokens) for edge in edges)
    cause = next((cause for cause in causes if cause is not None), None)
    return words if cause is None else f"{words}; a likely edge is {plain(str(cause))}"


def _bracket(bounds: Bounds) -> str:
    good = "nothing is known to pass" if bounds.last_good is None else f"{tokens(bounds.last_good)} passes"
    bad = "nothing is known to fail" if bounds.first_bad is None else f"{tokens(bounds.first_bad)} does not"
    return f"{good}, {bad}" + (", and failures are noisy" if bounds.noisy else "")


def _cost(one: Observation) -> str:
    words = span(one.cost_s)
    if one.deaths:
        words += f" and {plural(one.deaths, 'death')}"
    if one.revival_s is not None:
        words += f", {span(one.revival_s)} of it for the revival" if one.revived else "; the engine did not come back"
    return words


def _showed(ledger: Ledger, one: Observation) -> str:
    """What came of it, and how often that was seen there."""
    outcome = str(one.outcome)
    if not one.outcome.is_evidence:
        return f"nothing of the length: {outcome}: {plain(one.reason)}"
    tally = ledger.at(one.length, one.spec.output_tokens)
    times = len(tally.passes), len(tally.all_failures)
    again = f" ({plural(times[0], 'pass')}, {plural(times[1], 'failure')} there so far)" if sum(times) > 1 else ""
    counted = "" if one.length == one.spec.length else f" at {tokens(one.length)} tokens, by the server's count"
    told = "" if one.outcome is Outcome.PASS else f": {plain(one.reason, 160)}"
    return f"{outcome}{counted}{again}{told}".rstrip(": ")


def _moved(before: Bounds, after: Bounds) -> list[str]:
    return [_bracket(after)] if after != before else []


def _conclusion(finding: Finding | None) -> Iterator[str]:
    if finding is None:
        yield "no finding yet: the run did not end"
        return
    yield f"finding: {finding.kind}: {plain(finding.reason, 600)}"
    if finding.cause:
        yield f"  cause     {plain(finding.cause)}"
    if finding.cap is not None:
        yield f"  cap       {tokens(finding.cap)}"
    for words in finding.assumes:
        yield f"  assumes   {plain(words)}"
