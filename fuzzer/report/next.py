"""What is worth running once a run has ended, most useful first? PURE: command lines, from a run's rows."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Any

from fuzzer.finding import FindingKind, Halt
from fuzzer.model import WELL
from fuzzer.report import speed
from fuzzer.report.asked import COMMON, FROM_RUN, NOTHING, common_of, counts_output, search_of
from fuzzer.report.words import in_database
from fuzzer.store.masking import MASK

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fuzzer.report.summary import Facts


def next_commands(facts: Facts) -> Iterator[str]:
    """What is worth running now, most useful first."""
    finding, plan = facts.finding, facts.run.record.plan
    good, bad = _ends(facts)
    if finding.halt is Halt.PROXY:
        yield f"{command(facts, 'resume', facts.run.run)}   # once nothing is in the way"
    if finding.halt is Halt.LOST:
        yield _resume(facts)
    elif plan == speed.PLAN and finding.kind is FindingKind.NONE:
        yield command(facts, "report", facts.run.run, "-o", "report.html")
    elif finding.halt in {Halt.DEATHS, Halt.TIME} and good is not None and bad is not None:
        yield _further(facts, good, bad)
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


def _ends(facts: Facts) -> tuple[int | None, int | None]:
    """How far it is good and from where on bad, in what was searched: output tokens, or those of the prompt."""
    finding = facts.finding
    if counts_output(facts.run):
        return finding.last_good_output, finding.first_bad_output
    good = finding.verified_up_to if finding.kind is FindingKind.NONE else finding.last_good
    return good, finding.first_bad


def _room(facts: Facts) -> int | None:
    """The longest that the limit may leave to what was searched."""
    record = facts.run.record
    held: Any = record.question.get("prompt_tokens", 0) if counts_output(facts.run) else 0
    return None if record.limit is None else record.limit - held


def _further(facts: Facts, lo: int, hi: int) -> str:
    """What goes on between the ends. Without any death it would end where it stands: as many as usual are allowed."""
    trust = ("--trust-lo", "--trust-hi")
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
    return _remarked(command(facts, "resume", facts.run.run), *_added(secret))


def _again(facts: Facts, name: str, words: Sequence[object], secret: Sequence[str], then: str = "") -> str:
    """A command to the same target. What held a secret is named, for the user to add."""
    line = command(facts, name, "--url", facts.run.record.url, *words)
    secret = ("--url", *secret) if MASK in facts.run.record.url else secret
    return _remarked(line, *filter(None, [then]), *_added(secret))


def _added(secret: Sequence[str]) -> list[str]:
    return [f"add {', '.join(secret)}: the record keeps no secret"] if secret else []


def _remarked(line: str, *remarks: str) -> str:
    return f"{line}   # {'; '.join(remarks)}" if remarks else line


def command(facts: Facts, *words: object) -> str:
    """A command line that reads this record."""
    return " ".join(("ctxfuzz", *(quote(str(word)) for word in words))) + in_database(facts.db)
