"""How is a search over output tokens the same search as one over prompt tokens? PURE: the two change places.

`--axis output` holds the prompt and asks for longer and longer outputs. Turned, output tokens are the length and the
prompt is what is held beside it: so every rule of the search, and every shadow of a suspect, holds as it is. What is
turned is what a ledger sees; what is sent, recorded and told is never turned.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fuzzer.finding import FindingKind
from fuzzer.model import Outcome, ProbeSpec, Role, Side, side_of
from fuzzer.plans.answers import Answers
from fuzzer.plans.assumed import MONOTONE, not_tried
from fuzzer.plans.axis import left_for_drafts
from fuzzer.plans.confirm import passes_to_bear
from fuzzer.plans.tally import Tally
from fuzzer.plans.terms import companions_of
from fuzzer.recommend import cap_below

if TYPE_CHECKING:
    from fuzzer.finding import Finding
    from fuzzer.observation import Observation
    from fuzzer.plans.ledger import Ledger
    from fuzzer.plans.question import BisectQuestion

ONE_LINE = "outputs were searched after a prompt of {} tokens, and after no other"


def turned(question: BisectQuestion) -> BisectQuestion:
    """The question as its ledger sees it. The limit leaves the output what the prompt does not take."""
    room = [] if question.limit is None else [question.limit - question.prompt_tokens]
    hi = min([*([] if question.hi is None else [question.hi]), *room])
    company = companions_of(Role.SEARCH, 1, question.companion_length, question.limit)
    return replace(
        question,
        hi=hi,
        trust_hi=question.trust_hi and hi == question.hi,
        limit=None,
        output_tokens=question.prompt_tokens,
        attribute_axis=False,
        companion_length=company[0],
    )


def turned_spec(spec: ProbeSpec) -> ProbeSpec:
    """The probe to send for one that the ledger asks for, and back. A corner of the cap is no point of the line."""
    if spec.role is Role.CORNER:
        return spec
    return replace(spec, length=spec.output_tokens, output_tokens=spec.length)


def turned_seen(seen: Observation) -> Observation:
    """An observation as the ledger sees it. An output that was clamped, or that the model ended, was refused: it is not
    so long.
    """
    if seen.spec.role is Role.CORNER:
        return seen
    outcome = seen.outcome if seen.is_whole else Outcome.REJECTED
    spec = turned_spec(seen.spec)
    return replace(seen, spec=spec, outcome=outcome, length=spec.length, clamped=False, refusal_limit=None)


def corner_of_output(ledger: Ledger, output_tokens: int) -> ProbeSpec | None:
    """The next corner of the cap that the edge leaves: long prompts with short outputs, and a shorter prompt.

    What the engine lived through may be a stray: that corner is asked again, until it is sound or failed twice.
    """
    unknown = _unknown(ledger, cap_of_output(ledger), output_tokens)
    if not unknown or _failed(ledger):
        return None
    length, output = unknown[0]
    spec = ledger.question.spec(output, Role.CORNER, "a corner of what the cap admits")
    return replace(spec, length=length, output_tokens=output)


def cap_of_output(ledger: Ledger) -> int | None:
    """The cap whose corner of the held prompt has passed: a sum. None without an edge, or with islands under it."""
    bounds, held = ledger.bounds, ledger.question.output_tokens
    if bounds.first_bad is None or bounds.last_good is None or ledger.at(bounds.first_bad).refusals or ledger.islands:
        return None
    return cap_below(bounds.last_good + held, round_to=ledger.question.round_to, margin=left_for_drafts(ledger))


def told_of_output(ledger: Ledger, finding: Finding, output_tokens: int) -> Finding:
    """The finding of a turned ledger, in its own words and numbers."""
    held, bad = ledger.question.output_tokens, finding.first_bad
    is_edge = finding.halt is None and finding.kind not in {FindingKind.NONE, FindingKind.CLEAN_LIMIT}
    cap = cap_of_output(ledger) if is_edge else None
    holds = cap is not None and not _unknown(ledger, cap, output_tokens)
    assumes = [ONE_LINE.format(held)]
    if cap is not None and holds:
        assumes += [MONOTONE, not_tried(ledger.question, cap, ledger.draft_tokens)]
    no_cap = "" if holds else _no_cap_words(ledger, output_tokens)
    bad = None if bad is None or ledger.at(bad).refusals else bad
    return replace(
        finding,
        reason=f"in output tokens after a prompt of {held}: {finding.reason}{no_cap}",
        last_good=None,
        first_bad=None,
        first_rejected=None,
        verified_up_to=None,
        islands=(),
        last_good_total=None if finding.last_good is None else finding.last_good + held,
        first_bad_total=None if bad is None else bad + held,
        last_good_output=finding.last_good,
        first_bad_output=bad,
        cap=cap if holds else None,
        cause=None if finding.cause is None else finding.cause.replace(" - O", " - P"),
        assumes=(*assumes, *finding.assumes),
        speculation_off_from=None,
    )


def _no_cap_words(ledger: Ledger, output_tokens: int) -> str:
    """A clause on what keeps a cap back: a corner that fails, or of which too little is known."""
    if failed := _failed(ledger):
        seen = failed[0]
        return f"; no cap, since {seen.length} + {seen.spec.output_tokens} tokens ended in {seen.outcome}"
    unknown = _unknown(ledger, cap_of_output(ledger), output_tokens)
    return f"; no cap: nothing tells whether {unknown[0][0]} + {unknown[0][1]} tokens pass" if unknown else ""


def _corners(ledger: Ledger, cap: int | None, output_tokens: int) -> list[tuple[int, int]]:
    """Around the corner that has passed: two long prompts, and one that is shorter and leaves more output."""
    if cap is None:
        return []
    shorter = max(1, ledger.question.output_tokens // 4)
    corners = [(shorter, cap - shorter), (cap - output_tokens, output_tokens), (cap - 1, 1)]
    return [(length, output) for length, output in corners if length >= 1 and output >= 1]


def _unknown(ledger: Ledger, cap: int | None, output_tokens: int) -> list[tuple[int, int]]:
    """Corners that did not pass yet, or not often enough for what failed there. Long prompts are on no line that was
    walked: the longest that leaves room for a whole output takes the passes of a last_good.
    """
    tallies = _tallies(ledger)
    whole = (cap or 0) - output_tokens, output_tokens
    return [
        point
        for point in _corners(ledger, cap, output_tokens)
        if not _is_good(ledger, tallies.get(point, Tally()), passes_to_bear(ledger) if point == whole else 1)
    ]


def _is_good(ledger: Ledger, tally: Tally, passes: int) -> bool:
    return len(tally.passes) >= passes and (not tally.all_failures or ledger.is_sound(tally))


def _failed(ledger: Ledger) -> list[Observation]:
    """What speaks against the cap: corners that were refused or cut, that killed, or that failed twice."""
    against: list[Observation] = []
    for tally in _tallies(ledger).values():
        against += tally.refusals
        is_clear = len(tally.failures) > 1 or any(seen.ended_a_life for seen in tally.failures)
        if is_clear and not ledger.is_sound(tally):
            against += tally.failures
    return against


def _tallies(ledger: Ledger) -> dict[tuple[int, int], Tally]:
    """The evidence at each corner. An answer is doubted as those of a list are: a death may come to light after it."""
    fail_on = ledger.question.fail_on
    tallies: dict[tuple[int, int], Tally] = {}
    for seen in Answers(ledger.seen, fail_on, tallied=True).evidence:
        if seen.spec.role is Role.CORNER:
            side = side_of(seen.outcome, fail_on) if seen.is_whole else Side.LIMIT
            tallies.setdefault((seen.spec.length, seen.spec.output_tokens), Tally()).add(seen, side)
    return tallies
