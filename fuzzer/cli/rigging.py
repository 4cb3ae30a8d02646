"""With what does a session send its probes? Its flags, and the survey of its target, become a rig."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fuzzer.before.trial import Tell, untold
from fuzzer.before.tuning import tune
from fuzzer.enginelog import EngineLog, LogCommand, LogFile
from fuzzer.events import Note
from fuzzer.prompts import PromptSource
from fuzzer.rig import Rig

if TYPE_CHECKING:
    import anyio

    from fuzzer.cli.common import CommonFlags
    from fuzzer.cli.session import Listener, Session
    from fuzzer.model import Settings


async def rig_of(session: Session, stop: anyio.Event, listeners: Sequence[Listener] = (), tell: Tell = untold) -> Rig:
    """The rig of a session. `tell` is told of each short prompt that has to be sent for it."""
    flags, survey = session.flags, session.survey
    tokenize = session.target.tokenize if survey.has_tokenize else None
    rig = Rig(
        session.target,
        await PromptSource.open(tokenizer=flags.tokenizer, tokenize=tokenize),
        _settings(flags, session.pace),
        survey.limit,
        survey.version,
        session.company.replicas > 1,
        _engine_log(flags),
        stop,
        session.ground,
        session.again,
    )
    if (text := await tune(rig, session.mode, tell)) is not None:
        for listener in listeners:
            listener(Note(text, hint="--tokenizer DIR names the model's own", level="warning"))
    return rig


def ground_of(question: Mapping[str, Any]) -> int | None:
    """The longest prompt that a recorded question takes for good, or asks for in any case; None where it names none.

    What is sent ahead of the first probe stays within it: nobody would be charged for what dies of more.
    """
    if question.get("axis") == "output":
        return int(question["prompt_tokens"])
    named = question.get("lo", question.get("cap", question.get("ground")))  # the last one of a replay
    return max(question.get("lengths", ()), default=None) if named is None else int(named)


def _settings(flags: CommonFlags, pace: Settings) -> Settings:
    return replace(
        pace,
        timeout_s=flags.timeout_s,
        health_interval_s=flags.health_interval_s,
        revival_timeout_s=flags.revival_timeout_s,
        death_spacing_s=flags.death_spacing_s,
        max_deaths=flags.max_deaths,
        max_time_s=flags.max_time_s,
        allow_replicas=flags.allow_replicas,
        on_death=flags.on_death,
        seed=flags.seed or 0,
    )


def _engine_log(flags: CommonFlags) -> EngineLog | None:
    if flags.engine_log is not None:
        return LogFile(flags.engine_log)
    return None if flags.engine_log_cmd is None else LogCommand(flags.engine_log_cmd)
