"""How is a recorded probe made again, byte for byte, and sent?"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Never

import anyio
import click

from fuzzer.cli import conduct, opening, provenance, results, session, sparing
from fuzzer.cli.common import ADDRESSES, COMMANDS, CommonFlags, flag_of, names_of, withheld
from fuzzer.cli.exits import BY_HALT, Exit
from fuzzer.cli.rigging import ground_of, rig_of
from fuzzer.cli.streams import emit, emit_bytes, say
from fuzzer.companions import companion_of
from fuzzer.errors import RunStopped, UsageFault
from fuzzer.events import Note
from fuzzer.journal import recipe_of
from fuzzer.plans.again import AgainQuestion, repeats
from fuzzer.plans.forecast import Forecast
from fuzzer.report.finding import finding_object
from fuzzer.report.plain import plain
from fuzzer.report.reached import curl, url_of
from fuzzer.report.words import tokens
from fuzzer.rig import generation_of
from fuzzer.store import History
from fuzzer.store.lock import target_key
from fuzzer.store.masking import masked_url

if TYPE_CHECKING:
    from fuzzer.cli.watching import Listeners
    from fuzzer.model import Outcome
    from fuzzer.observation import Observation
    from fuzzer.store import Intent, Run

_EXITS: Final = {True: Exit.ANSWERED, False: Exit.BAD_NEWS, None: Exit.INCONCLUSIVE}


def replay(name: str, seq: int, db: Path, given: Mapping[str, Any]) -> Never:
    """Send one probe again, and leave: 0 where its outcome repeats, 1 where it does not, 3 where nobody can tell."""
    run, intent, was, flags, missing = _recorded(db, name, seq, given)
    outcome, ground = None if was is None else was.outcome, ground_of(run.record.question)
    question = AgainQuestion(run.run, seq, intent.spec, outcome, flags.fail_on, ground)
    deadly = was is None or was.deaths > 0 or was.wedged
    if deadly and flags.max_deaths == 0:
        raise UsageFault(
            f"{_told(run, was, intent)} With --max-deaths 0 it is not sent: allow one with --max-deaths 1."
        )
    provenance.tell_commands(flags, given)

    async def drive(opened: session.Session, listeners: Listeners, stop: anyio.Event) -> conduct.Ending:
        conduct.tell(listeners, Note(_told(run, was, intent), level="warning" if deadly else "info"))
        for note in missing:
            conduct.tell(listeners, note)
        sparing.spare(opened, intent.spec.length)
        grounded = opened.on_ground_of(run)
        await _same_bytes(grounded, intent)
        if flags.dry_run:
            return conduct.Ahead(Forecast(1, int(deadly), None), flags.max_deaths)
        again = replace(grounded, again=recipe_of(intent))
        return await again.run("replay", question, listeners, stop)

    ending = conduct.ended(flags, drive)
    if not isinstance(ending, session.Result):
        conduct.conclude(flags, ending)
    _conclude(flags, ending, question)


def _conclude(flags: CommonFlags, ended: session.Result, question: AgainQuestion) -> Never:
    finding, now = ended.finding, ended.observations[-1].outcome
    again = repeats(question.was, now)
    if flags.json:
        shown = finding_object(ended.run_row, finding, ended.observations, ended.elapsed_s)
        results.emit_json({**shown, **replay_object(question, now)})
    else:
        emit(plain(f"{question.of}:{question.seq} {finding.reason}", 2_000))
    if finding.halt is not None:
        raise click.exceptions.Exit(BY_HALT[finding.halt])
    raise click.exceptions.Exit(_EXITS[again])


def replay_object(question: AgainQuestion, now: Outcome) -> dict[str, Any]:
    """What `replay --json` adds to the finding."""
    compared = {"run": question.of, "seq": question.seq, "was": question.was, "is": now}
    return {"replay": {**compared, "repeats": repeats(question.was, now)}}


def body(probe: tuple[str, int], companion: int | None, db: Path, into: Path | None, given: Mapping[str, Any]) -> None:
    """Write one probe's body, or that of its so-manieth companion, and say how curl sends it."""
    run, intent, _, flags, _ = _recorded(db, *probe, given)
    if companion is not None and companion > len(intent.spec.companions):
        raise UsageFault(f"Probe {run.run}:{intent.seq} had {len(intent.spec.companions)} companions.")
    flags = replace(flags, allow_busy=True, allow_replicas=True)

    async def made() -> tuple[bytes, str]:
        async with opening.opened(flags, sample_s=0.0) as opened:
            grounded = opened.on_ground_of(run)
            if companion is not None:
                return await _companion_body(grounded, intent, companion - 1), opened.target.url
            return await _same_bytes(grounded, intent), opened.target.url

    made_again, root = anyio.run(made)
    if into is None:
        emit_bytes(made_again)
    else:
        try:
            into.write_bytes(made_again)
        except OSError as error:
            raise UsageFault(f"{into} cannot be written ({error.strerror}). Choose another file with -o.") from None
    file, headers = "-" if into is None else str(into), names_of(flags.headers)
    say(curl(root, masked_url(flags.url), intent.spec.mode, file, headers, key=bool(flags.api_key)))


def _recorded(
    db: Path, name: str, seq: int, given: Mapping[str, Any]
) -> tuple[Run, Intent, Observation | None, CommonFlags, list[Note]]:
    """The run, its probe, what that showed then, the flags to ask it with now, and what those lack."""
    with History.open(db) as history:
        run = history.trusted(name)
        unsaid = provenance.unsaid(run, history, given)
        flags = _flags(run, db, given, unsaid)
        intent = next((one for one in history.intents(run.run) if one.seq == seq), None)
        was = next((one for one in history.observations(run.run) if one.seq == seq), None)
    if intent is None:
        raise UsageFault(f"Run {run.run} has no probe {seq}. `ctxfuzz show {run.run}` lists those that it has.")
    return run, intent, was, flags, _without(run, given, unsaid)


def _flags(run: Run, db: Path, given: Mapping[str, Any], unsaid: Sequence[str]) -> CommonFlags:
    """As the run was driven, but for what is said now. Who asks for one probe has looked who else is there.

    Raises UsageFault where the record cannot, or may not, tell the way to the target.
    """
    begun = {"url": run.record.url, **run.record.settings}
    if given["url"] is None and "url" in withheld(begun):
        raise UsageFault(
            f"Run {run.run} was begun with a secret in --url, and the record keeps none: add --url to this command."
        )
    if "url" in unsaid:
        raise provenance.refusal(run, ["url"])
    if not _is_elsewhere(run, given):
        provenance.require_headers(run, given)
    said = {name: value for name, value in given.items() if name not in ADDRESSES}
    flags = CommonFlags(url="", db=db, **said).restored(begun, without=unsaid)
    kept = {name: value for name, value in given.items() if name == "max_deaths" or (name in ADDRESSES and value)}
    return replace(flags, **{"model": run.record.model} | kept)


def _is_elsewhere(run: Run, given: Mapping[str, Any]) -> bool:
    """Is it to be sent to another place than it was? What led to the engine there need not lead to the one here."""
    return given["url"] is not None and target_key(masked_url(given["url"])) != target_key(masked_url(url_of(run)))


def _without(run: Run, given: Mapping[str, Any], unsaid: Sequence[str]) -> list[Note]:
    """What the run was driven with, and this replay is not: what its record does not, or may not, give back."""
    masked = [name for name in withheld(run.record.settings) if given.get(name) is None]
    secret = [_missing(run, name, "with a secret in it: the record keeps none") for name in masked]
    foreign = [
        _missing(run, name, f"({run.record.settings[name]}) and was not begun here")
        for name in COMMANDS
        if name in unsaid and name not in masked
    ]
    headers = [f"--header '{name}: ...'" for name in provenance.unsaid_headers(run, given)]
    lacked = Note(f"run {run.run} was begun with {' '.join(headers)}, and --url is asked without", level="warning")
    return [*secret, *foreign, *([lacked] if headers else [])]


def _missing(run: Run, name: str, why: str) -> Note:
    flag, metavar = flag_of(name), "URL" if name in ADDRESSES else "CMD"
    return Note(
        f"run {run.run} had a {flag} {why}, and nothing is used in its place",
        hint=f"give it again: {flag} {metavar}",
        level="warning",
    )


def _told(run: Run, was: Observation | None, intent: Intent) -> str:
    spec = intent.spec
    ended = "nobody saw its end" if was is None else f"it ended in: {was.outcome}"
    return (
        f"Probe {run.run}:{intent.seq} asked for {tokens(spec.length)} + {spec.output_tokens} tokens, and {ended}"
        f"{' (the engine died)' if was is not None and was.deaths else ''}."
    )


async def _same_bytes(opened: session.Session, intent: Intent) -> bytes:
    """The body, if it is the recorded one. Raises RunStopped where it is not."""
    rig = await rig_of(opened, anyio.Event())
    made = opened.target.encode(await generation_of(rig, intent.spec, recipe_of(intent)))
    digest = hashlib.sha256(made).hexdigest()
    if digest != intent.body_sha256:
        raise RunStopped(
            f"The recipe makes other bytes now: SHA-256 {digest[:16]}..., and {intent.body_sha256[:16]}... were sent. "
            "The model's name, its tokenizer, its limit or ctxfuzz is another one: give --url the target that the run "
            "was made against."
        )
    return made


async def _companion_body(opened: session.Session, intent: Intent, at: int) -> bytes:
    """The bytes of the first request of a companion, from 0."""
    rig = await rig_of(opened, anyio.Event())
    return opened.target.encode(await companion_of(rig, intent.spec, intent.seq, at))
