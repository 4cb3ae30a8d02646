"""What stops a run before its question is answered, and what only makes it wait? PURE."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from fuzzer.finding import Halt
from fuzzer.model import LONGEST_NAMED_WAIT_S, Outcome, ProbeSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fuzzer.observation import Observation

MOST_TRIES = 6
LONGEST_WAIT_S = 30.0
MOST_PROBES = 3000  # of a search; a list that is longer is worked through
WEDGED = "it is there and does not work, so that nobody restarts it: let --on-death do that"
GONE = (
    "a supervisor that restarts on failure leaves an exit with status 0 alone; Restart=always does not. Where "
    "somebody answers in its place, no supervisor may see that it is gone: let --on-death restart it"
)


class Seen(Protocol):
    """All observations so far, and those of them that are evidence, in the order in which they were made."""

    seen: list[Observation]
    evidence: list[Observation]


def stopped(ledger: Seen, max_deaths: int, most_probes: float = MOST_PROBES) -> tuple[Halt, str] | None:
    """Why nothing more can be asked, as a halt and a sentence. After `most_probes` more of them settle nothing.

    What ended a session does not end the run: one that was resumed asks again.
    """
    return (_stopped_by(ledger, ledger.seen[-1], max_deaths) or _tired(ledger, most_probes)) if ledger.seen else None


def _stopped_by(ledger: Seen, last: Observation, max_deaths: int) -> tuple[Halt, str] | None:
    if last.resumed_after:
        return None
    if not last.revived and last.relapses:
        return _relapsing(ledger, last, max_deaths)
    if not last.revived:
        advice = WEDGED if last.wedged else GONE
        why = "" if last.outcome.is_evidence or not last.reason else f" ({last.reason})"
        return Halt.LOST, f"the engine did not come back after {last.length} tokens{why}: {last.next_step or advice}"
    if last.outcome is Outcome.INFRA:
        advice = f": {last.next_step}" if last.next_step else ""
        # What a short prompt got past and a long one does not is a limit on the way, unless the way itself is shut.
        got_through = bool(ledger.evidence) or last.completion_tokens is not None
        shut = last.unusable or not got_through
        halt = Halt.REPLICAS if last.several else Halt.UNUSABLE if shut else Halt.PROXY
        return halt, f"{last.reason}{advice}"
    if last.outcome is Outcome.BUSY and (last.retry_after_s or 0.0) > LONGEST_NAMED_WAIT_S:
        return Halt.BUSY, f"the target is busy and says to come back in {last.retry_after_s:.0f} s: resume the run then"
    return None


def _relapsing(ledger: Seen, last: Observation, max_deaths: int) -> tuple[Halt, str]:
    if dies_of_canaries(ledger.seen):
        return Halt.LOST, (
            f"{last.length} tokens were answered, and then it died {last.deaths} times, each time of the canary, a "
            "prompt of 16 tokens that shows whether it works: short prompts seem to kill it, and without canaries "
            "nothing can be told of long ones; its log says of what: mend that"
        )
    again = "1 time" if last.relapses == 1 else f"{last.relapses} times"
    why = f"it dies again as it revives: {again} after {last.length} tokens"
    step = "its log says of what; mend that, or keep requests away from it until it is warm"
    if sum(seen.toll for seen in ledger.seen) >= max_deaths:
        return Halt.DEATHS, f"{why}; {spent(ledger, max_deaths)}: {step}"
    return Halt.LOST, f"{why}: {step}"


def dies_of_canaries(seen: Sequence[Observation]) -> bool:
    """Is it canaries that the engine dies of, by all observations so far? Then the last one says nothing."""
    return seen[-1].may_be_of_canaries and not any(one.sang for one in seen)


def spent(ledger: Seen, max_deaths: int) -> str:
    """A sentence: the deaths of --max-deaths are spent. It says what was counted that nobody would call a death."""
    deaths = sum(seen.toll for seen in ledger.seen)
    wedges = deaths - sum(seen.deaths for seen in ledger.seen)
    relapses = sum(seen.relapses for seen in ledger.seen)
    of_them = [
        f"{wedges} of a wedged engine, which only a restart helps" if wedges else "",
        f"{relapses} as it revived" if relapses else "",
    ]
    told = ", ".join(filter(None, of_them))
    counted = f"{deaths} {'death' if deaths == 1 else 'deaths'}" + (f" ({told})" if told else "")
    return f"{counted}, and --max-deaths is {max_deaths}"


def _tired(ledger: Seen, most_probes: float) -> tuple[Halt, str] | None:
    if _in_a_row(ledger, Outcome.BUSY) > MOST_TRIES:
        step = ledger.seen[-1].next_step
        return Halt.BUSY, f"the target was busy {MOST_TRIES + 1} times in a row" + (f": {step}" if step else "")
    if _in_a_row(ledger, Outcome.ABANDONED) > MOST_TRIES:
        last = ledger.seen[-1]
        if last.next_step:  # answers came, and what makes them show nothing can be mended
            return Halt.PROXY, f"{MOST_TRIES + 1} answers in a row show nothing: {last.reason}: {last.next_step}"
        return Halt.LOST, f"no answer could be had {MOST_TRIES + 1} times in a row: {last.reason}"
    if len(ledger.seen) >= most_probes:
        return Halt.CONTRADICTION, f"{most_probes} probes did not settle it"
    return None


def wait(ledger: Seen) -> ProbeSpec | None:
    """The same again, later, where the target was busy."""
    times = _in_a_row(ledger, Outcome.BUSY)
    if times == 0:
        return None
    last = ledger.seen[-1]
    return replace(last.spec, wait_s=max(last.retry_after_s or 0.0, min(2.0 ** (times - 1), LONGEST_WAIT_S)))


def out_of_time(over_s: float, max_time_s: float | None, step: ProbeSpec | None, *, is_busy: bool = True) -> str | None:
    """Why the next step is not begun, `over_s` seconds into the run; None where there is time for it.

    `is_busy`: where it is to wait first, the target asked for that.
    """
    if max_time_s is None:
        return None
    if over_s >= max_time_s:
        return f"the {max_time_s:.0f} s of --max-time are spent"
    wait_s = step.wait_s if step is not None else 0.0
    if over_s + wait_s >= max_time_s:
        who = "the target is busy and says to" if is_busy or step is None else f"{step.reason} That is to"
        return f"{who} wait for {wait_s:.0f} s, longer than --max-time leaves"
    return None


def _in_a_row(ledger: Seen, outcome: Outcome) -> int:
    times = 0
    for seen in reversed(ledger.seen):
        if seen.outcome is not outcome or seen.resumed_after:
            break
        times += 1
    return times
