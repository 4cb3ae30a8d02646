"""What is worth running once a run has ended, most useful first? PURE: command lines, from a run's rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fuzzer.finding import FindingKind, Halt
from fuzzer.model import WELL
from fuzzer.report import speed
from fuzzer.report.asked import COMMON, FROM_RUN, NOTHING, common_of, counts_output, search_of
from fuzzer.report.reached import header_words, headers_of, url_of
from fuzzer.report.words import argument, in_database
from fuzzer.store.masking import MASK

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fuzzer.report.summary import Facts


def next_commands(facts: Facts) -> Iterator[str]:
    """What is worth running now, most useful first."""
    finding, plan = facts.finding, facts.run.record.plan
    good, bad = _ends(facts)
    if finding.halt is Halt.PROXY:
        yield _remarked(_resumed(facts), "once nothing is in the way")
    if finding.halt is Halt.LOST:
        yield _resume(facts)
    elif plan == speed.PLAN and finding.kind is FindingKind.NONE:
        yield command(facts, "report", facts.run.run, "-o", "report.html")
    elif (failing := _failing_below(facts)) is not None and (finding.cap is None or finding.halt is not None):
        ground = finding.verified_up_to or 0
        yield _further(facts, ground if 0 < ground < failing else max(1, failing // 2), failing, "--trust-hi")
    elif finding.halt in {Halt.DEATHS, Halt.TIME} and good is not None and bad is not None:
        yield _further(facts, good, bad, "--trust-lo", "--trust-hi")
    elif finding.kind is FindingKind.NONE and good is not None:
        room = _room(facts)
        if room is None or good < room - 1:
            yield _bisect(facts, good, min(2 * good, room or 2 * good))
    elif finding.cap is not None and finding.kind is not FindingKind.CLEAN_LIMIT:
        yield command(facts, "recommend", facts.run.run, "--format", "helm")
        own = common_of(facts.run, without=FROM_RUN)
        of_run = ("--from-run", facts.run.run)
        yield _again(facts, "verify", (*of_run, *own.words), own.secret, then="once the cap is set")
    elif finding.cap is None and finding.halt is None and good is not None and bad is not None:
        yield _bisect(facts, good, bad)
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
    left = [at for at in killed if (finding.verified_up_to or 0) < at <= (finding.last_good or 0)]
    found = [first for first, _ in finding.islands] + left
    return min((at for at in found if at > 1), default=None)


def _room(facts: Facts) -> int | None:
    """The longest that the limit may leave to what was searched."""
    record = facts.run.record
    held: Any = record.question.get("prompt_tokens", 0) if counts_output(facts.run) else 0
    return None if record.limit is None else record.limit - held


def _further(facts: Facts, lo: int, hi: int, *trust: str) -> str:
    """What goes on between the ends. Without any death it would end where it stands: as many as usual are allowed."""
    if facts.run.record.settings.get("max_deaths") != 0:
        return _bisect(facts, lo, hi, *trust)
    then = f"up to {COMMON['max_deaths']} engine deaths: without any it cannot go on"
    return _bisect(facts, lo, hi, *trust, but={"max_deaths": COMMON["max_deaths"]}, then=then)


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


def _resume(facts: Facts) -> str:
    """The run itself goes on as it was begun, but for a command that held a secret."""
    secret = [name for name in common_of(facts.run).secret if name in {"--on-death", "--engine-log-cmd"}]
    return _remarked(_resumed(facts), *_added(secret))


def _resumed(facts: Facts) -> str:
    return command(facts, "resume", facts.run.run, *header_words(headers_of(facts.run)))


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
    return " ".join(("ctxfuzz", *map(argument, words))) + in_database(facts.db)
