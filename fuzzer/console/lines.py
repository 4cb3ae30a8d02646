"""How does a pipe or a CI log follow a run? One plain line a probe, and one for each thing worth knowing between."""

from __future__ import annotations

from typing import Protocol, assert_never

from fuzzer.events import (
    Bracket,
    EngineDied,
    Event,
    Note,
    ProbeEnded,
    ProbeProgress,
    ProbeStarted,
    Replayed,
    Revived,
    Reviving,
    RunEnded,
    RunStarted,
)
from fuzzer.report import probes
from fuzzer.report.plain import plain
from fuzzer.report.words import plural, span, tokens


class Writable(Protocol):
    def write(self, text: str, /) -> object: ...


class LineConsole:
    """A listener that writes to `stream`."""

    def __init__(self, stream: Writable, *, verbose: bool = False) -> None:
        self._stream = stream
        self._verbose = verbose
        self._forecast_said = False

    def __call__(self, event: Event) -> None:
        said = line(event, verbose=self._verbose)
        if said is None and isinstance(event, Bracket) and not self._forecast_said:
            said = forecast(event)
            self._forecast_said = said is not None
        if said is not None:
            self._stream.write(said + "\n")


def line(event: Event, *, verbose: bool) -> str | None:  # noqa: PLR0911  (a case an event)
    """What one event says, or None where it is worth no line."""
    match event:
        case RunStarted():
            return heading(event)
        case ProbeEnded(observation):
            return probes.line(observation)
        case Replayed(observation):
            return f"{probes.line(observation)}  (recorded)"
        case Note():
            return note(event)
        case ProbeStarted(seq, spec, _, leaves) if verbose:
            what = "sent" if leaves else "lost in tokenisation, not sent"
            return f"#{seq:<3} {spec.role:<12} {tokens(spec.length):>9} +{spec.output_tokens:<4} {what}: {spec.reason}"
        case EngineDied(seq, _, signature, corroboration) if verbose:
            return (
                f"#{seq if seq is not None else '-':<3} the engine died ({corroboration}) {plain(signature)}".rstrip()
            )
        case Revived(took_s) if verbose:
            return f"     the engine is back after {span(took_s)}"
        case ProbeStarted() | EngineDied() | Revived() | ProbeProgress() | Reviving() | Bracket() | RunEnded():
            return None
        case _:
            assert_never(event)


def heading(run: RunStarted) -> str:
    """What runs against what, in one line."""
    engine = f"{run.engine} {run.version}" if run.version else run.engine
    limit = "no limit advertised" if run.limit is None else f"limit {tokens(run.limit)}"
    verb = "resumes" if run.resumed else "run"
    return plain(f"{verb} {run.run}: {run.command} on {run.url}, {run.model}, {engine}, {limit}")


def note(event: Note) -> str:
    """A note, with its hint."""
    lead = "warning: " if event.level == "warning" else ""
    return f"{lead}{plain(event.text)}" + (f" ({plain(event.hint)})" if event.hint else "")


def to_go(bracket: Bracket) -> str | None:
    """How much is still to come: probes and time; None where nobody can tell yet."""
    parts = []
    if bracket.expected_probes is not None:
        parts.append(plural(max(1, round(bracket.expected_probes)), "probe"))
    if bracket.expected_s is not None:
        parts.append(span(bracket.expected_s))
    return f"about {', '.join(parts)}" if parts else None


def forecast(bracket: Bracket) -> str | None:
    """What is to be expected, before it happens: deaths, probes and time."""
    if bracket.expected_deaths is None:
        return None
    left, expected = to_go(bracket), min(bracket.expected_deaths, bracket.max_deaths)
    return (
        f"expect about {expected:.1f} engine deaths (at most {bracket.max_deaths}){'' if left is None else f'; {left}'}"
    )
