"""How does a fuzz read: what was tried, and how does whoever mends the engine see each failure? PURE."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from fuzzer.finding import Finding, FindingKind, Reproducer
from fuzzer.plans.conditions import words
from fuzzer.plans.coverage import Coverage, coverage
from fuzzer.plans.fuzz import FuzzQuestion
from fuzzer.report.finding import finding_object
from fuzzer.report.plain import plain
from fuzzer.report.reached import curl, header_flags, headers_of, in_shell, url_of
from fuzzer.report.words import argument, in_database, plural, tokens
from fuzzer.store.masking import MASK

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fuzzer.model import ProbeSpec
    from fuzzer.observation import Observation
    from fuzzer.store import Run

SCHEMA: Final = "ctxfuzz.fuzz/1"
PLAN: Final = "fuzz"


def fuzz_object(run: Run, finding: Finding, seen: Sequence[Observation], elapsed_s: float, db: str) -> dict[str, Any]:
    """The object of `fuzz --json`: the finding's keys, `cap`, `coverage` and `failures`."""
    question = question_of(run)
    told = asdict(coverage(question, seen))
    return {
        **finding_object(run, finding, seen, elapsed_s),
        "schema": SCHEMA,
        "cap": question.cap,
        "seed": question.seed,
        "coverage": told | {"places": list(told["places"]), "residues": list(told["residues"])},
        "failures": [_failure(run, question, one, seen, db) for one in finding.reproducers],
    }


def question_of(run: Run) -> FuzzQuestion:
    return FuzzQuestion.from_json(run.record.question)


def _failure(run: Run, question: FuzzQuestion, one: Reproducer, seen: Sequence[Observation], db: str) -> dict[str, Any]:
    spec = one.spec
    return {
        "probe": one.seq,
        "met": one.met,
        "outcome": one.outcome.value,
        "signature": one.signature,
        "prompt_tokens": spec.length,
        "output_tokens": None if spec.omit_max_tokens else spec.output_tokens,
        "companions": list(spec.companions),
        "cache": spec.cache,
        "shared_tokens": spec.shared,
        "content": spec.content,
        "mode": spec.mode,
        "stream": spec.stream,
        "temperature": spec.temperature,
        "needs": _needs(question, spec),
        "before": list(one.before),
        "failed": one.failed,
        "asked": one.asked,
        "shorter_passes": one.shorter_passes,
        "longer_passes": one.longer_passes,
        "requests_of_a_life": one.every,
        "unfinished": one.unfinished or None,
        "replay": replay_line(run, one, db),
        "script": script(run, one, seen, db),
        "report": paragraph(run, question, one),
    }


def title(run: Run, finding: Finding) -> str:
    """The finding in one line."""
    cap = tokens(question_of(run).cap)
    if finding.reproducers:
        return f"{plural(len(finding.reproducers), 'failure')} under the cap of {cap}"
    return f"Nothing failed under the cap of {cap}" if finding.kind is FindingKind.NONE else "Inconclusive"


def rows(run: Run, finding: Finding, seen: Sequence[Observation], db: str) -> Iterator[tuple[str, str]]:
    """Labelled lines: each failure with how to see it, then what was tried."""
    question = question_of(run)
    for number, one in enumerate(finding.reproducers, 1):
        yield f"failure {number}", paragraph(run, question, one)
        yield "see it", replay_line(run, one, db)
    yield from covered(coverage(question, seen))


def covered(told: Coverage) -> Iterator[tuple[str, str]]:
    """What was tried, a line for each condition."""
    yield "passed", f"{told.passed:,} of {plural(told.samples, 'sample')}"
    places, residues = told.places, told.residues
    yield "covered", f"{places[0]} of {places[1]} places, {residues[0]} of {residues[1]} residues of {residues[1]}"
    for condition, passes in told.passes.items():
        if passes:
            yield condition, ", ".join(f"{value}: {count:,}" for value, count in passes.items())


def replay_line(run: Run, one: Reproducer, db: str) -> str:
    """One line that sends it once more, and what must come before it."""
    added = header_flags(headers_of(run)) + in_database(db)
    return "; ".join(f"ctxfuzz replay {argument(run.run)}:{seq}{added}" for seq in (*one.before, one.seq))


def script(run: Run, one: Reproducer, seen: Sequence[Observation], db: str) -> str:
    """A shell script that makes the bodies and sends them with curl; $OPENAI_API_KEY is the key, if one is needed.

    All bodies are made first: to make one asks the target, which is no part of what happened to it. Nothing is sent
    before each variable is set that stands for a header's value, or for a URL with its secret.
    """
    specs = {probe.seq: probe.spec for probe in seen} | {one.seq: one.spec}
    probes, record = [*one.before, one.seq], f"{_reached(run)}{in_database(db)}"
    bodies = {f"{seq}": f"probe-{seq}.json" for seq in probes}
    companions = range(1, len(one.spec.companions) + 1)
    bodies |= {f"{one.seq} --companion {at}": f"companion-{at}.json" for at in companions}
    return "\n".join(
        [
            "#!/bin/sh",
            f"# {plain(run.record.model)}: {one.outcome} at {one.spec.length} prompt tokens",
            "# To be run where the record is.",
            *(f"ctxfuzz body {argument(run.run)}:{which} -o {file}{record} || exit" for which, file in bodies.items()),
            *(_sent(run, f"probe-{seq}.json", specs[seq]) for seq in one.before),
            *(f"{_sent(run, f'companion-{at}.json', one.spec)} > /dev/null &" for at in companions),
            *(["sleep 1"] if companions else []),
            *([] if one.every is None else [f"for request in $(seq {one.every}); do"]),
            _sent(run, f"probe-{one.seq}.json", one.spec),
            *([] if one.every is None else ["done"]),
        ]
    )


def _reached(run: Run) -> str:
    """What `ctxfuzz body` is told of the way to the target, as its record alone does not tell it."""
    url = ' --url "${TARGET_URL:?}"' if MASK in url_of(run) else ""
    return url + "".join(f" --header {in_shell(name)}" for name in headers_of(run))


def _sent(run: Run, file: str, spec: ProbeSpec) -> str:
    return curl(run.record.url, url_of(run), spec.mode, file, headers_of(run), key=True)


def paragraph(run: Run, question: FuzzQuestion, one: Reproducer) -> str:
    """A few sentences fit for a bug report."""
    record = run.record
    engine = " ".join(part for part in (record.engine, record.engine_version) if part)
    return plain(" ".join([f"{engine} serving {record.model}: {_what(question, one)}", *_told(one)]), 2000)


def _what(question: FuzzQuestion, one: Reproducer) -> str:
    signature = f' ("{plain(one.signature, 200)}")' if one.signature else ""
    end = f"ends in {one.outcome}{signature}"
    if one.every is not None:
        return f"request {one.every} or so of the engine's life {end}, whatever it asks for."
    spec = one.spec
    output = "no max_tokens" if spec.omit_max_tokens else f"max_tokens {spec.output_tokens}"
    needs = "; ".join(_needs(question, spec))
    return f"a prompt of {tokens(spec.length)} tokens with {output}{f', {needs},' if needs else ''} {end}."


def _needs(question: FuzzQuestion, spec: ProbeSpec) -> list[str]:
    """What it takes besides the two lengths, which are told as numbers; so are the lengths of companions."""
    company = f"beside {plural(len(spec.companions), 'request')} of {tokens(max(spec.companions, default=0))} tokens"
    said = [said for said in words(spec, question) if not said.startswith(("output:", "max_tokens:", "companions:"))]
    return [company, *said] if spec.companions else said


def _told(one: Reproducer) -> Iterator[str]:
    if one.before:
        yield f"It takes {plural(len(one.before), 'probe')} before it (numbers {', '.join(map(str, one.before))})."
    match one.shorter_passes, one.longer_passes:
        case True, True:
            yield "One token less passes, and one token more."
        case True, False:
            yield "One token less passes; one token more does not."
        case True, None:
            yield "One token less passes."
        case _:
            pass
    if one.asked == 1:
        yield "It was asked once, and failed."
    else:
        yield f"It failed {one.failed} of the {one.asked} times that it was asked as it was met."
    if one.unfinished:
        yield f"It may not be the least that it takes: {one.unfinished}."
