"""Where does the target begin to refuse, and is the refusal clean? PURE.

The limit counts prompt + output in most engines, the prompt alone in some, and the search sees only where prompts of
one output length begin to be refused. So a limit that was learnt is claimed only as far as its two corners passed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.model import Outcome, ProbeSpec, Role, Side, side_of
from fuzzer.observation import Observation
from fuzzer.plans.doubt import TWICE
from fuzzer.plans.tally import Tally
from fuzzer.plans.terms import longest_beside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fuzzer.plans.ledger import Ledger


def near_limit(ledger: Ledger) -> ProbeSpec | None:
    """(limit - O, O), where nothing failed up to the advertised limit: the last length with its whole output."""
    question = ledger.question
    if not reached_limit(ledger) or question.limit is None:
        return None
    length = longest_beside(question.output_tokens, question.limit, question)
    if length < 1 or ledger.at(length).passes:
        return None
    return question.spec(length, Role.LIMIT, "the longest prompt that leaves room for the whole output")


def reached_limit(ledger: Ledger) -> bool:
    """Did every length pass that the advertised limit admits?"""
    question = ledger.question
    if question.limit is None or not ledger.bounds.last_good == question.longest == ledger.bounds.high - 1:
        return False
    return not any(ledger.at(*point).refusals for point in corners_below(ledger, question.limit))


def over_ask(ledger: Ledger) -> ProbeSpec | None:
    """A prompt that fits and asks for more output than does, where nothing failed: servers refuse that, or give what
    fits, and some die of it. Clients that leave a large max_tokens as it is ask so all the time.
    """
    point = _over_asked(ledger)
    if point is None or (ledger.has_asked(*point) and not _is_one_error(ledger.at(*point))):
        return None
    reason = "does the engine survive a prompt that asks for more output than fits?"
    return ledger.question.spec(point[0], Role.CORNER, reason, output_tokens=point[1])


def asked_failure(ledger: Ledger) -> Observation | None:
    """The prompt that asked for more output than fits, if the engine failed over it. To give less is no failure."""
    point = _over_asked(ledger)
    tally = Tally() if point is None else ledger.at(*point)
    failures = [] if _is_one_error(tally) or tally.passes else tally.all_failures
    return next((seen for seen in failures if seen.outcome in {Outcome.DEATH, Outcome.HANG, Outcome.ERROR}), None)


def _is_one_error(tally: Tally) -> bool:
    """Did it fail but once, with an error that the engine lived through? It may be a stray one: it is asked again."""
    errors = [seen for seen in tally.all_failures if seen.outcome is Outcome.ERROR]
    return len(errors) == len(tally.all_failures) == 1 and not (tally.passes or tally.refusals)


def _over_asked(ledger: Ledger) -> tuple[int, int] | None:
    question = ledger.question
    if question.limit is None or not reached_limit(ledger):
        return None
    length = longest_beside(question.output_tokens, question.limit, question)
    return (length, question.limit - length + question.output_tokens) if length >= 1 else None


def over_limit(ledger: Ledger) -> ProbeSpec | None:
    """One prompt just above what the advertised limit admits, last: builds exist that hang after a clean refusal.

    Where prompts are known to end well below the limit, first the next one: some servers cut it without a word.
    """
    question = ledger.question
    if not reached_limit(ledger) or question.limit is None or asked_failure(ledger) is not None:
        return None
    seen = over_limit_seen(ledger)
    if seen and (seen.spec.length > question.limit or side_of(seen.outcome, question.fail_on) is not Side.GOOD):
        return None
    reason = "is a prompt above the limit refused, and the engine well after it?"
    is_next = seen is None and question.largest_prompt_below_limit > 1
    length = question.top + 1 if is_next else question.limit + 1
    return question.spec(length, Role.OVER_LIMIT, reason, output_tokens=1)


def over_limit_seen(ledger: Ledger) -> Observation | None:
    """What came of the last probe above the limit."""
    return next(reversed(ledger.by_role.get(Role.OVER_LIMIT, [])), None)


def cut_short_of_limit(ledger: Ledger) -> Observation | None:
    """The probe above the longest prompt that the limit admits, where it failed and the limit itself is longer."""
    beyond, limit = over_limit_seen(ledger), ledger.question.limit
    if beyond is None or limit is None or beyond.length >= limit:
        return None
    return beyond if side_of(beyond.outcome, ledger.question.fail_on) is Side.BAD else None


def near_learnt_limit(ledger: Ledger) -> ProbeSpec | None:
    """The corners of the next limit that the refusals leave possible; but first, what one failure there leaves open."""
    if (again := _failed_once(ledger)) is not None:
        return again
    for limit in _possible(ledger):
        if untried := _untried(ledger, limit):
            length, output = untried[0]
            return ledger.question.spec(length, Role.LIMIT, f"is {limit} the limit?", output_tokens=output)
        return None
    return None


def begins_to_refuse(ledger: Ledger) -> bool:
    """Is first_bad where the target begins to refuse?

    One failure there is a stray beside a refusal. Twice, there or at longer prompts, the engine fails of what it
    refuses. What passed there, too, is no limit to be sure of.
    """
    first_bad = ledger.bounds.first_bad
    if first_bad is None or not (tally := ledger.at(first_bad)).refusals:
        return False
    failures = sum(len(above.all_failures) for length, above in ledger.line() if length >= first_bad)
    return not tally.failures or (failures < TWICE and not tally.passes)


def learnt_limit(ledger: Ledger) -> int | None:
    """The highest possible limit both of whose corners passed."""
    return next((limit for limit in _possible(ledger) if not _untried(ledger, limit)), None)


def limit_failure(ledger: Ledger) -> Observation | None:
    """A probe near the limit that fails, and is longer than all that passes: something fails below the limit after
    all. What is shorter is the search's own to weigh (see `Ledger`).
    """
    last_good = ledger.bounds.last_good or 0
    return next((seen for seen in _failing(ledger) if seen.length > last_good), None)


def _failing(ledger: Ledger) -> list[Observation]:
    """Failures near the limit that no passes at their point outweigh."""
    fail_on = ledger.question.fail_on
    failed = (seen for seen in ledger.by_role.get(Role.LIMIT, []) if side_of(seen.outcome, fail_on) is Side.BAD)
    return [seen for seen in failed if not ledger.is_sound(ledger.at(seen.length, seen.spec.output_tokens))]


def _failed_once(ledger: Ledger) -> ProbeSpec | None:
    """A point beside the line that failed but once, again: until it fails twice, or passes outweigh that."""
    for seen in _failing(ledger):
        length, output = seen.length, seen.spec.output_tokens
        tally, beside = ledger.at(length, output), output != ledger.question.output_at(length)
        if beside and len(tally.all_failures) == 1:
            reason = f"it failed once and passed {len(tally.passes)} times: the limit, or a stray?"
            return ledger.question.spec(length, Role.LIMIT, reason, output_tokens=output)
    return None


def _possible(ledger: Ledger) -> Iterator[int]:
    """Limits that nothing contradicts, the best supported first. Numbers in refusals lie in some builds: none is
    believed below what passed, or above what any way of counting allows.
    """
    bounds, question = ledger.bounds, ledger.question
    if bounds.first_bad is None or bounds.last_good is None:
        return
    tally = ledger.at(bounds.first_bad)
    passes = ledger.at(bounds.last_good).passes
    if not begins_to_refuse(ledger) or not passes:
        return
    highest = max(seen.total for seen in passes)
    stated = [seen.refusal_limit for seen in tally.refusals if seen.refusal_limit is not None]
    fitting = [limit for limit in stated if bounds.last_good <= limit <= bounds.last_good + question.output_tokens]
    yield from (limit for limit in dict.fromkeys([*fitting, highest]) if _stands(ledger, limit))
    if limit_failure(ledger) is None:
        yield from _where_prompts_end(ledger, bounds.last_good, highest)
    if _stands(ledger, bounds.last_good):
        yield bounds.last_good


def _where_prompts_end(ledger: Ledger, last_good: int, highest: int) -> Iterator[int]:
    """Limits of a server that keeps more than it has to: the longest prompt that it admits alone is below what prompt
    and output may come to. The first one that is not known to hold, or else the highest that is.

    Where a prompt that is longer by one is refused alone, and last_good came with all the output asked, nothing shows
    that output counts at all: then no more than last_good is claimed.
    """
    spare = _spare(ledger)
    good, bad = last_good + spare, highest
    while good + 1 < bad:
        limit = good + 1 if good == last_good + spare else (good + bad) // 2
        if not _stands(ledger, limit):
            bad = limit
        elif _untried(ledger, limit):
            yield limit
            return
        else:
            good = limit
    output_counts = good > last_good + spare or highest < last_good + ledger.question.output_tokens
    if output_counts and good < highest and _stands(ledger, good):
        yield good


def _spare(ledger: Ledger) -> int:
    """Output tokens beside the longest prompt, as far as is known of this kind of server."""
    return max(ledger.question.largest_prompt_below_limit, 1)


def corners_below(ledger: Ledger, limit: int) -> list[tuple[int, int]]:
    """The longest prompt that such a limit admits, and the longest with its whole output."""
    spare, question = _spare(ledger), ledger.question
    whole = question.output_tokens
    beside_it = max(1, min(spare - question.reserved, whole))
    corners = [(limit - spare, beside_it), (longest_beside(whole, limit, question), whole)]
    return [(length, output) for length, output in dict.fromkeys(corners) if length >= 1]


def _untried(ledger: Ledger, limit: int) -> list[tuple[int, int]]:
    """Corners of which nothing tells whether they hold."""
    return [point for point in corners_below(ledger, limit) if not _is_told(ledger, point)]


def _is_told(ledger: Ledger, point: tuple[int, int]) -> bool:
    tally = ledger.at(*point)
    return bool(tally.passes or tally.all_failures or tally.refusals) or ledger.covers(*point)


def _stands(ledger: Ledger, limit: int) -> bool:
    tallies = [ledger.at(*point) for point in corners_below(ledger, limit)]
    return not any(tally.refusals or (tally.failures and not ledger.is_sound(tally)) for tally in tallies)
