"""What does a person want to know when a run has ended? PURE: a title and labelled lines, from a run's rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fuzzer.finding import Finding, FindingKind
from fuzzer.report import fuzz, speed
from fuzzer.report.finding import death_signatures, window_unusable
from fuzzer.report.next import command, next_commands
from fuzzer.report.plain import plain
from fuzzer.report.recommendation import settable, setting, unsettable
from fuzzer.report.required import UNANSWERED, decided, required_of
from fuzzer.report.verify import PLAN as GATE
from fuzzer.report.verify import verdict
from fuzzer.report.words import plural, span, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fuzzer.observation import Observation
    from fuzzer.report.attribution import Attribution
    from fuzzer.store import Run

Tone = Literal["good", "bad", "unsure"]

TELLING = 0.5  # the bound of a failure rate says something from here on down: of one pass it is 95 %
HELD = {True: "it holds", False: "it does not hold", None: "undecided"}


@dataclass(frozen=True, slots=True)
class Summary:
    """`rows` are (label, text); a label that is empty continues the one before. `commands` are what to run next."""

    title: str
    tone: Tone
    rows: tuple[tuple[str, str], ...]
    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """What a summary is made of. `db` is the database as the user named it, `attribution` what the controls say."""

    run: Run
    finding: Finding
    seen: Sequence[Observation]
    elapsed_s: float
    db: str
    attribution: Attribution | None = None


def summary(facts: Facts) -> Summary:
    """The final panel's content."""
    rows = [*_found(facts), *_evidence(facts), *_blame(facts), *_assumes(facts)]
    commands = (*next_commands(facts), command(facts, "show", facts.run.run))
    return Summary(_title(facts), _tone(facts), tuple(labelled_once(rows)), commands)


def _found(facts: Facts) -> Iterable[tuple[str, str]]:
    match facts.run.record.plan:
        case fuzz.PLAN:
            return fuzz.rows(facts.run, facts.finding, facts.seen, facts.db)
        case speed.PLAN | "same" | "capacity":
            return _edge(facts)
        case _:
            return (*_edge(facts), *_cap(facts), *_required(facts))


def _title(facts: Facts) -> str:
    match facts.run.record.plan:
        case fuzz.PLAN:
            return fuzz.title(facts.run, facts.finding)
        case speed.PLAN if facts.finding.kind is FindingKind.NONE:
            return f"Measured up to {tokens(facts.finding.verified_up_to)} prompt tokens"
        case plan if plan == GATE:
            return verdict(facts.finding).capitalize()
        case _:
            doubt = ", a length that was taken as known to fail" if _against_trust(facts) else ""
            missed = "; the required cap does not hold" if _is_held(facts) is False else ""
            return title_of(facts.finding) + doubt + missed


def title_of(finding: Finding) -> str:
    """The finding in one line."""
    unit, reached, bad = "prompt", finding.verified_up_to, finding.first_bad
    if finding.last_good_output is not None or finding.first_bad_output is not None:
        unit, reached, bad = "output", finding.last_good_output, finding.first_bad_output
    match finding.kind:
        case FindingKind.CLEAN_LIMIT:
            return _limit_title(finding)
        case FindingKind.NONE if reached is None:
            return "Answered without a probe"
        case FindingKind.NONE:
            return f"Nothing fails up to {tokens(reached)} {unit} tokens"
        case FindingKind.NOT_LENGTH:
            return "Something fails, but not by length"
        case FindingKind.INCONCLUSIVE:
            return "Inconclusive"
        case _:
            return f"{finding.kind.capitalize()} {_where(finding, bad, unit)}"


def _where(finding: Finding, bad: int | None, unit: str) -> str:
    if bad is not None:
        return f"from {tokens(bad)} {unit} tokens on"
    if finding.islands:
        return f"at {_span(*finding.islands[0])}, an island"
    return "past the limit"


def _limit_title(finding: Finding) -> str:
    if finding.cap is None and finding.first_rejected is not None:
        return f"{tokens(finding.first_rejected)} prompt tokens are refused, and the engine is well"
    return "Nothing fails below the limit, and above it the refusal is clean"


def _span(first: int, last: int) -> str:
    return tokens(first) if first == last else f"{tokens(first)} to {tokens(last)}"


def _against_trust(facts: Facts) -> bool:
    """Did `hi` pass, which was taken as known to fail?"""
    finding, asked = facts.finding, facts.run.record.question
    reached = finding.last_good_output or finding.verified_up_to
    return finding.kind is FindingKind.NONE and bool(asked.get("trust_hi")) and reached == asked.get("hi")


def _tone(facts: Facts) -> Tone:
    finding = facts.finding
    if facts.run.record.plan == GATE and finding.halt is None:
        return "bad" if finding.cap is None else "good"
    if _against_trust(facts) or finding.halt is not None or finding.kind in UNANSWERED:
        return "unsure"
    if _is_held(facts) is False:
        return "bad"
    return "good" if finding.kind in {FindingKind.CLEAN_LIMIT, FindingKind.NONE} else "bad"


def _edge(facts: Facts) -> Iterator[tuple[str, str]]:
    finding = facts.finding
    if finding.last_good is not None:
        total = "" if finding.last_good_total is None else f" ({tokens(finding.last_good_total)} with its output)"
        yield "last good", f"{tokens(finding.last_good)} prompt tokens{total}"
    if finding.first_bad is not None:
        total = "" if finding.first_bad_total is None else f" ({tokens(finding.first_bad_total)} with its output)"
        yield "first bad", f"{tokens(finding.first_bad)} prompt tokens{total}"
    if finding.last_good_output is not None:
        total = f" ({tokens(finding.last_good_total)} with the prompt)"
        yield "last good", f"{tokens(finding.last_good_output)} output tokens{total}"
    if finding.first_bad_output is not None:
        total = f" ({tokens(finding.first_bad_total)} with the prompt)"
        yield "first bad", f"{tokens(finding.first_bad_output)} output tokens{total}"
    if finding.first_rejected is not None:
        yield "rejected", f"{tokens(finding.first_rejected)} prompt tokens, cleanly"
    for low, high in finding.islands:
        yield "island", f"{_span(low, high)} fails too"
    if finding.flaky is not None:
        flaky = finding.flaky
        yield "flaky", f"fails {flaky.rate:.0%} of the time above the edge (95%: {flaky.low:.0%} to {flaky.high:.0%})"
    if finding.speculation_off_from is not None:
        yield "drafts", f"speculation is off from {tokens(finding.speculation_off_from)} prompt tokens on"


def _cap(facts: Facts) -> Iterator[tuple[str, str]]:
    finding, limit = facts.finding, facts.run.record.limit
    if finding.cap is None:
        yield "cap", "none to recommend"
        return
    yield "cap", f"max_model_len {tokens(finding.cap)}{_share(limit, finding.cap)}"
    if finding.kind is FindingKind.CLEAN_LIMIT:
        yield "set", f"nothing: the limit is safe as it is{_refused_between(finding.cap, limit)}"
    else:
        engine = facts.run.record.engine
        held = settable(engine, finding.cap)
        yield "set", unsettable(engine, finding.cap) if held is None else setting(engine, held)


def _refused_between(cap: int, advertised: int | None) -> str:
    """A clause for whoever counts on what is advertised, where less is in force."""
    if advertised is None or advertised <= cap:
        return ""
    return f", but what is between it and the {tokens(advertised)} that are advertised is refused"


def _required(facts: Facts) -> Iterator[tuple[str, str]]:
    require = required_of(facts.run)
    if require is not None:
        yield "required", f"a cap of {tokens(require)} or more: {HELD[_is_held(facts)]}"


def _is_held(facts: Facts) -> bool | None:
    """Does the cap that was required hold? None where none was, or where nothing was decided."""
    require = required_of(facts.run)
    return None if require is None else decided(facts.finding, require)


def _share(limit: int | None, cap: int) -> str:
    unusable = window_unusable(limit, cap)
    return f"; {unusable:.1%} of the advertised {tokens(limit)} cannot be used" if unusable else ""


def _evidence(facts: Facts) -> Iterator[tuple[str, str]]:
    finding, run = facts.finding, facts.run
    yield "why", plain(finding.reason, 500)
    if finding.cause is not None:
        yield "cause", plain(finding.cause)
    held = finding.confidence
    if held.last_good_passes:
        upper = held.failure_rate_upper_95
        rate = "" if upper is None or upper > TELLING else f"; fails less than {upper:.1%} of the time (95%)"
        failures = plural(held.first_bad_failures, "failure")
        yield "evidence", f"{plural(held.last_good_passes, 'pass')} at last good, {failures} at first bad{rate}"
    counts = (plural(run.probes, "probe"), plural(run.canaries, "canary"), plural(run.deaths, "death"))
    yield "cost", f"{', '.join(counts)}, {span(facts.elapsed_s)}"
    for words in death_signatures(facts.seen)[:3]:
        yield "last words", f'"{plain(words, 200)}"'


def _blame(facts: Facts) -> Iterator[tuple[str, str]]:
    if facts.attribution is not None:
        yield "blame", facts.attribution.words
        for control in facts.attribution.controls:
            yield "control", plain(f"{control.name}: {control.words}", 200)


def _assumes(facts: Facts) -> Iterator[tuple[str, str]]:
    for assumption in facts.finding.assumes:
        yield "assumes", plain(assumption)


def labelled_once(rows: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Each label once: the rows that go on under it have none."""
    before = ""
    for label, text in rows:
        yield ("" if label == before else label), text
        before = label


def as_text(shown: Summary) -> str:
    """The summary as plain lines, for a pipe."""
    width = max(len(label) for label, _ in shown.rows)
    rows = (f"  {label:<{width}}  {text}" for label, text in shown.rows)
    after = ["next:", *(f"  {command}" for command in shown.commands)] if shown.commands else []
    return "\n".join([shown.title, *rows, *after])
