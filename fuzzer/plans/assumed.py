"""On what does the claim of a bisect rest, and what was not tried? PURE: sentences for `assumes`."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from fuzzer.model import Outcome, Role
from fuzzer.plans.axis import left_for_drafts
from fuzzer.plans.corners import refused_corners
from fuzzer.plans.drafting import drafts_more
from fuzzer.plans.grain import grain_words
from fuzzer.plans.recall import cleared, unanswered
from fuzzer.plans.scan import scanned
from fuzzer.plans.warmth import hit_words
from fuzzer.standing import BELIEVED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fuzzer.observation import Observation
    from fuzzer.plans.ledger import Ledger
    from fuzzer.plans.question import BisectQuestion

MONOTONE = "failure is monotone in prompt, in prompt + output, or in prompt + output + a constant"
OTHER_MODES = {"ids": "text and chat prompts", "text": "chat prompts", "chat": "prompts without a template"}


def assumed(ledger: Ledger, cap: int | None, *, nothing_fails: bool = False) -> tuple[str, ...]:
    """The sentences, for this cap or for none. That nothing fails up to some length is a claim as much as a cap is."""
    bounds, question = ledger.bounds, ledger.question
    said = [] if cap is None else list(_of_the_cap(ledger, cap))
    if cap is None and nothing_fails:
        said = list(_of_nothing(ledger, bounds.last_good or 0))
    if (hits := hit_words(ledger)) is not None:
        said.append(hits)
    if (untold := _garble_untold(ledger)) is not None:
        said.append(untold)
    if question.trust_lo and not ledger.at(question.start).passes:
        said.append(f"lo ({question.start}) was trusted, not sent")
    if question.trust_hi and question.hi is not None and (bounds.first_bad or question.hi) >= question.top:
        sent = ledger.at(question.hi)
        if not (sent.passes or sent.all_failures or sent.refusals):
            said.append(f"hi ({question.hi}) was taken as known to fail, not sent")
    said += _outweighed(ledger)
    said += [f"{length} killed this build in an earlier run, and passes now" for length in cleared(ledger)]
    if (ended := ended_early(ledger.evidence)) is not None:
        said.append(ended)
    if drafts := left_for_drafts(ledger):
        said.append(f"the cap leaves {drafts} tokens for drafts that are accepted more often than ours")
    return tuple(said)


def _of_the_cap(ledger: Ledger, cap: int) -> Iterator[str]:
    yield MONOTONE
    yield not_tried(ledger.question, cap, ledger.draft_tokens)
    if ledger.question.scan:
        yield _scanned_words(ledger, "below the edge")
    yield grain_words(ledger, cap)
    for length, output in refused_corners(ledger, cap):
        yield f"({length}, {output}) was refused"


def _of_nothing(ledger: Ledger, top: int) -> Iterator[str]:
    """An island between two lengths that were sent would pass unseen."""
    yield MONOTONE
    if ledger.question.scan:
        yield _scanned_words(ledger, f"up to {top}")
    else:
        yield "lengths between those that were sent were not: `--scan` sends those where engines like to fail"
    yield f"{_untried(ledger.question, top, ledger.draft_tokens)}; `ctxfuzz fuzz --cap {top}` samples them"


def _scanned_words(ledger: Ledger, where: str) -> str:
    passed, places = scanned(ledger)
    return f"{passed} of the {places} places {where} where engines like to fail passed"


def _outweighed(ledger: Ledger) -> Iterator[str]:
    not_so = {*ledger.islands, *unanswered(ledger)}
    for length, tally in ledger.line():
        if tally.failures and length <= (ledger.bounds.last_good or 0) and length not in not_so:
            yield f"{length} failed {times(len(tally.failures))} and is outweighed by passes at and above it"
    for length, tally in sorted(ledger.points.scanned.items(), key=itemgetter(0)):
        if tally.failures and ledger.is_sound(tally):
            yield f"the place {length} failed {times(len(tally.failures))} and passed {times(len(tally.passes))}"


def _garble_untold(ledger: Ledger) -> str | None:
    """Which garbled answers passed for good ones, since good ones look like that."""
    if Outcome.GARBLED not in ledger.question.fail_on:
        return None
    marked = ((seen, _by_nature(seen)) for seen in ledger.seen if seen.spec.role in BELIEVED)
    first, nature = next(((seen, nature) for seen, nature in marked if nature), (None, ""))
    if first is None:
        return None
    if first.spec.role is Role.BASELINE:
        return f"the short baseline already {nature}: garbled answers that do the same cannot be told"
    return f"an answer to {first.length} tokens passed, but {nature}: garbled ones since cannot be told"


def _by_nature(seen: Observation) -> str:
    """What a good answer does that garbled ones do too, in words; empty where it does not."""
    mark = seen.yardstick
    if mark is None or not (mark.repeats or mark.runs_out):
        return ""
    return "repeats one token" if mark.repeats else "ends in many blanks"


def ended_early(evidence: Iterable[Observation]) -> str | None:
    """How far answers went that the model itself ended: decoding past that was not seen there."""
    early = [(seen.decoded, seen.spec.output_tokens) for seen in evidence if not seen.is_whole and not seen.clamped]
    if not early:
        return None
    least, asked = min(early)
    return f"the model ended {len(early)} answers by itself, one after {least} of {asked} tokens: no more was decoded"


def not_tried(question: BisectQuestion, cap: int, draft_tokens: int | None = None) -> str:
    """What else a cap admits, under which nothing was sent: neither here, nor by a fuzz that went as far, and whose
    engine drafted as much at once.
    """
    return f"{_untried(question, cap, draft_tokens)}; once the cap is set, `ctxfuzz verify` fills it"


def _untried(question: BisectQuestion, cap: int, draft_tokens: int | None) -> str:
    is_sampled = question.fuzzed_cap >= cap and not drafts_more(draft_tokens or 0, question.fuzzed_drafts)
    fuzzed = question.fuzzed if is_sampled else ()
    tried = {"companions"} if question.companions else set()
    others = [words for name, words in _others(question).items() if name not in {*tried, *fuzzed}]
    if not others:
        return "what else it admits was sampled by `ctxfuzz fuzz`, not tried out"
    listed = " and ".join([", ".join(others[:-1]), others[-1]] if len(others) > 1 else others)
    sampled = "" if not fuzzed else f" (sampled by `ctxfuzz fuzz`, and nothing failed: {', '.join(fuzzed)})"
    return f"{listed} were not tried{sampled}"


def _others(question: BisectQuestion) -> dict[str, str]:
    return {
        "companions": "companions",
        "content": "other contents",
        "cache": "a cold prompt" if question.cache == "warm" else "a warm prefix",
        "output": "other outputs",
        "mode": OTHER_MODES[question.mode],
        "temperature": "a temperature above 0",
        "stream": "unstreamed answers" if question.stream else "streamed answers",
    }


def times(count: int) -> str:
    """How often, in words."""
    return "once" if count == 1 else f"{count} times"
