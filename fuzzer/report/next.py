"""What is worth running once a run has ended, most useful first? PURE: command lines, from a run's rows."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, cast

from fuzzer.finding import FindingKind, Halt
from fuzzer.model import FAIL_ON_DEFAULT, WELL, Outcome, Side, side_of
from fuzzer.report import speed
from fuzzer.report.asked import COMMON, FROM_RUN, NOTHING, common_of, counts_output, search_of
from fuzzer.report.reached import header_words, headers_of, url_of
from fuzzer.report.words import argument, in_database
from fuzzer.store.masking import MASK

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fuzzer.finding import Finding
    from fuzzer.report.summary import Facts
    from fuzzer.store import Run

LEAST_STEP: Final = 256  # tokens, between two failures that recur
SPENT: Final = frozenset({Halt.DEATHS, Halt.TIME})  # a budget ended it: the same question goes on with another


def next_commands(facts: Facts) -> Iterator[str]:
    """What is worth running now, most useful first."""
    finding, plan = facts.finding, facts.run.record.plan
    good, bad = _ends(facts)
    if finding.halt is Halt.PROXY:
        yield _remarked(_resumed(facts.run, facts.db), "once nothing is in the way")
    if finding.halt is Halt.LOST:
        yield resume(facts.run, facts.db)
    elif plan == speed.PLAN and finding.kind is FindingKind.NONE:
        yield command(facts, "report", facts.run.run, "-o", "report.html")
    elif (failing := _failing_below(facts)) is not None and (finding.cap is None or finding.halt is not None):
        yield _below(facts, failing)
    elif finding.halt in SPENT and good is not None and bad is not None:
        yield _further(facts, good, bad, *_known_good(facts, good), *_known_bad(facts, bad))
    elif finding.halt in SPENT and plan == "bisect" and bad is None and (hi := _top(facts)) > (good or 0):
        start: Any = facts.run.record.question["lo"] if good is None else good
        yield _further(facts, start, hi, *(() if good is None else _known_good(facts, good)))
    elif finding.kind is FindingKind.NONE and good is not None:
        room = _room(facts)
        if room is None or good < room - 1:
            yield _bisect(facts, good, min(2 * good, room or 2 * good))
    elif finding.cap is not None and finding.kind is not FindingKind.CLEAN_LIMIT:
        yield command(facts, "recommend", facts.run.run, "--format", "helm")
        own = common_of(facts.run, without=FROM_RUN)
        of_run = ("--from-run", facts.run.run)
        yield _again(facts, "verify", (*of_run, *own.words), own.secret, then="once the cap is set")
    elif finding.cap is None and finding.halt is None and (ends := _between(facts)) is not None:
        yield _bisect(facts, *ends)
    elif finding.cap is None and finding.halt is None and plan == "bisect" and _fails_past_the_limit(facts):
        own = common_of(facts.run)
        then = "once what is before it turns longer requests away: no lower limit mends that"
        yield _again(facts, "verify", ("--cap", facts.run.record.limit, *own.words), own.secret, then)


def _ends(facts: Facts) -> tuple[int | None, int | None]:
    """How far it is good and from where on bad, in what was searched: output tokens, or those of the prompt."""
    finding = facts.finding
    if counts_output(facts.run):
        return finding.last_good_output, finding.first_bad_output
    good = finding.verified_up_to if finding.kind is FindingKind.NONE else finding.last_good
    return good, finding.first_bad


def _between(facts: Facts) -> tuple[int, int] | None:
    """Both ends, where they are known and are not just those that were asked."""
    good, bad = _ends(facts)
    return None if good is None or bad is None or _is_asked(facts, good, bad) else (good, bad)


def _fails_past_the_limit(facts: Facts) -> bool:
    """Does all pass that the advertised limit admits, and something fail above it?"""
    finding = facts.finding
    passing = {FindingKind.NONE, FindingKind.CLEAN_LIMIT, FindingKind.NOT_LENGTH, FindingKind.INCONCLUSIVE}
    is_past = finding.first_bad is None and finding.last_good is not None and not finding.islands
    return (
        is_past and finding.kind not in passing and facts.run.record.limit is not None and not counts_output(facts.run)
    )


def _failing_below(facts: Facts) -> int | None:
    """The shortest prompt that fails under longer ones that pass, or that did in another run and was not cleared: only
    below it is there a cap to be found.
    """
    finding, known_bad = facts.finding, facts.run.record.question.get("known_bad")
    if counts_output(facts.run) or finding.halt not in {None, Halt.DEATHS, Halt.TIME}:
        return None
    killed = known_bad if isinstance(known_bad, list | tuple) else ()
    above, top = finding.verified_up_to or 0, finding.last_good or 0
    left = [at for at in killed if isinstance(at, int) and above < at <= top]
    found = [first for first, _ in finding.islands] + left
    return min((at for at in found if at > 1), default=None)


def _below(facts: Facts, failing: int) -> str:
    """A search below it; but of what recurs, what reproduces it."""
    finding, ground = facts.finding, facts.finding.verified_up_to or 0
    if _recurs(finding):
        own = common_of(facts.run)
        words = ("--cap", finding.last_good, *own.words)
        return _again(facts, "fuzz", words, own.secret, "no cap leaves out what recurs: this reproduces it")
    start = ground if 0 < ground < failing else max(1, failing // 2)
    return _further(facts, start, failing, *_known_bad(facts, failing))


def _recurs(finding: Finding) -> bool:
    """Was the search over, and two lengths were left failing that lie a power of two apart? No cap is below those."""
    firsts = [first for first, _ in finding.islands]
    apart = {high - low for low, high in combinations(firsts, 2)}
    is_over = finding.cap is None and finding.halt is None and finding.last_good is not None
    return is_over and any(step >= LEAST_STEP and step.bit_count() == 1 for step in apart)


def _room(facts: Facts) -> int | None:
    """The longest that the limit may leave to what was searched."""
    record = facts.run.record
    held: Any = record.question.get("prompt_tokens", 0) if counts_output(facts.run) else 0
    return None if record.limit is None else record.limit - held


def _top(facts: Facts) -> int:
    """How far the run was asked to look, in what it searched."""
    room, hi = _room(facts), facts.run.record.question.get("hi")
    return min((end for end in (hi, room) if isinstance(end, int)), default=0)


def _known_good(facts: Facts, at: int) -> tuple[str, ...]:
    """Nothing is known to pass where the engine fails now and then, nor where it failed once."""
    return ("--trust-lo",) if _sides_at(facts, at) <= {Side.GOOD} and facts.finding.flaky is None else ()


def _known_bad(facts: Facts, at: int) -> tuple[str, ...]:
    """A length that has passed is not known to fail: to trust it would be untrue, and cost deaths for nothing."""
    return ("--trust-hi",) if Side.GOOD not in _sides_at(facts, at) and facts.finding.flaky is None else ()


def _sides_at(facts: Facts, at: int) -> set[Side]:
    """What was seen of one length of what was searched; nothing, where it was taken as known."""
    is_turned, fails = counts_output(facts.run), facts.run.record.settings.get("fail_on")
    fail_on = FAIL_ON_DEFAULT if fails is None else frozenset(map(Outcome, cast("list[str]", fails)))
    there = (one for one in facts.seen if (one.spec.output_tokens if is_turned else one.length) == at)
    return {side_of(one.outcome, fail_on) for one in there} - {Side.NOTHING}


def _further(facts: Facts, lo: int, hi: int, *trust: str) -> str:
    """What goes on between the ends, with more of what was spent: as it was asked it would end where it stands."""
    but: dict[str, object] = {}
    then = []
    if (deaths := _more_deaths(facts, lo, hi)) is not None:
        own: Any = facts.run.record.settings["max_deaths"]
        but["max_deaths"] = deaths
        why = f"{own} did not suffice" if own else "without any it cannot go on"
        then.append(f"up to {deaths} engine deaths: {why}")
    if facts.finding.halt is Halt.TIME and facts.run.record.settings.get("max_time_s") is not None:
        but["max_time_s"] = None
        then.append("without --max-time, which was spent")
    return _bisect(facts, lo, hi, *trust, but=but, then="; ".join(then))


def _more_deaths(facts: Facts, lo: int, hi: int) -> int | None:
    """How many deaths the continuation needs; None: as many as were allowed.

    A budget that is spent on a question that did not shrink, or one below the usual, is doubled: each continuation of
    a continuation asks otherwise than the one before, and none of them repeats the deaths for nothing.
    """
    own: Any = facts.run.record.settings.get("max_deaths")
    usual: Any = COMMON["max_deaths"]
    if own == 0:
        return usual if facts.finding.halt is Halt.DEATHS or facts.finding.first_bad is not None else None
    if own is None or facts.finding.halt is not Halt.DEATHS:
        return None
    return 2 * own if own < usual or _is_asked(facts, lo, hi) else None


def _is_asked(facts: Facts, lo: int, hi: int) -> bool:
    """Did the run itself ask just between these ends?"""
    question = facts.run.record.question
    return (lo, hi) == (question.get("lo"), question.get("hi"))


def _bisect(facts: Facts, lo: int, hi: int, *trust: str, but: Mapping[str, object] = NOTHING, then: str = "") -> str:
    """The command, under the conditions of this run, `but` these; with its ends as sums where they were told so."""
    run, question = facts.run, facts.run.record.question
    beside: Any = question.get("output_tokens", 0) if question.get("axis") == "total" else 0
    common, search = common_of(run, {**_of_the_failure(facts), **but}), search_of(run)
    words = ("--lo", lo + beside, "--hi", hi + beside, *trust, *common.words, *search.words)
    return _again(facts, "bisect", words, common.secret + search.secret, then)


def _of_the_failure(facts: Facts) -> dict[str, object]:
    """The conditions of the probe that failed, of a run that varied them over its lengths."""
    finding = facts.finding
    if facts.run.record.plan not in {"sweep", speed.PLAN} or finding.first_bad is None:
        return {}
    failed = (seen for seen in facts.seen if seen.length == finding.first_bad and seen.outcome not in WELL)
    return {"content": one.spec.content, "companions": len(one.spec.companions)} if (one := next(failed, None)) else {}


def resume(run: Run, db: str) -> str:
    """The run itself goes on as it was begun, but for a command that held a secret."""
    secret = [name for name in common_of(run).secret if name in {"--on-death", "--engine-log-cmd"}]
    return _remarked(_resumed(run, db), *_added(secret))


def _resumed(run: Run, db: str) -> str:
    return _line(db, "resume", run.run, *header_words(headers_of(run)))


def _again(facts: Facts, name: str, words: Sequence[object], secret: Sequence[str], then: str = "") -> str:
    """A command to the same target, by the same way. What held a secret is named, for the user to add."""
    url, headers = url_of(facts.run), header_words(headers_of(facts.run))
    there, secret = ((), ("--url", *secret)) if MASK in url else (("--url", url), secret)
    line = command(facts, name, *there, *headers, *words)
    return _remarked(line, *filter(None, [then]), *_added(secret))


def _added(secret: Sequence[str]) -> list[str]:
    return [f"add {', '.join(secret)}: the record keeps no secret"] if secret else []


def _remarked(line: str, *remarks: str) -> str:
    return f"{line}   # {'; '.join(remarks)}" if remarks else line


def command(facts: Facts, *words: object) -> str:
    """A command line that reads this record."""
    return _line(facts.db, *words)


def _line(db: str, *words: object) -> str:
    return " ".join(("ctxfuzz", *map(argument, words))) + in_database(db)
