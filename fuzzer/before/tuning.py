"""Does the target take our prompts, and how does it count them? A few tiny requests before the first probe.

Needed only where no tokenizer tells: ids drawn from a guess are tried, and texts without a count are calibrated by
the server's own `usage`. Like canaries they are on record, and say nothing about any length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.before.trial import trial, untold
from fuzzer.errors import RunStopped
from fuzzer.outcome.counting import ASK_THE_ENGINE, SHORT_LENGTHS, adds_up, counts_otherwise, in_words, is_odd
from fuzzer.prompts.calibration import adds_up as adds_up_to_words
from fuzzer.prompts.calibration import room
from fuzzer.prompts.recipe import HEAD, Recipe

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fuzzer.before.trial import Tell
    from fuzzer.rig import Rig
    from targets.base import Mode, Prompt, Reply

TRIAL_TOKENS = 16
DEADLINE_S = 120.0
NOT_THERE = frozenset({404, 405, 501})  # statuses of a path that is not served


class IdsRefused(RunStopped):
    """No ids that we can think of are taken."""


async def tune(rig: Rig, mode: Mode, tell: Tell = untold) -> str | None:
    """Make the prompts fit the target. Returns what the reader must know of it, or None where all is certain.

    `tell` hears of each request. Raises RunStopped where the target takes no prompt whose length would be known, and
    Interrupted where the run is stopped meanwhile.
    """
    if mode == "ids" and rig.prompts.vocabulary_origin == "guess":
        await _try_ids(rig, tell)
        return "no tokenizer and no /tokenize: token ids are drawn from a guess at the vocabulary"
    if mode != "ids" and rig.prompts.estimated:
        await _calibrate(rig, mode, tell)
        return "no tokenizer and no /tokenize: texts are counted by the server's usage on short prompts"
    return None


async def _try_ids(rig: Rig, tell: Tell) -> None:
    """Raises RunStopped where no guess is taken, or somebody counts the ids in tokens of another kind."""
    counted = (await _try_guesses(rig, tell)).usage.prompt_tokens
    if counted is None or not is_odd(counted - TRIAL_TOKENS):
        return
    counts = await _counts_of_ids(rig, counted, tell)
    if counts_otherwise(counts):
        raise RunStopped(_of_another_tokenizer(counts))


async def _try_guesses(rig: Rig, tell: Tell) -> Reply:
    """The answer to ids that are taken."""
    while True:
        reply = await _ask(rig, await rig.prompts.rebuild(Recipe("ids", TRIAL_TOKENS, head="trial")), tell)
        if reply.status is None:
            raise RunStopped(_unanswered(TRIAL_TOKENS, "ids", reply))
        if reply.status not in {400, 422} or rig.target.refusal(reply) is not None:
            return reply  # taken, or refused for a reason that the first probe will name
        if not rig.prompts.guess_again():
            raise IdsRefused(
                f"The target refuses our guesses at its vocabulary ({_answered(reply)}). Name the model's tokenizer "
                "with --tokenizer DIR, or send text with --mode text."
            )


async def _calibrate(rig: Rig, mode: Mode, tell: Tell) -> None:
    ground = await _ground(rig, mode, tell)
    while prompts := await rig.prompts.calibration(mode, ground):
        usages: dict[int, int] = {}
        for prompt in prompts:
            usages[prompt.tokens] = await _counted(rig, prompt, tell)
            if not adds_up_to_words(usages):
                break  # what is longer in our count may be far longer in the server's
        if rig.prompts.calibrate(usages) is not None:
            return
    raise RunStopped(
        "The server's counts of short texts do not add up, so no longer text would have a known length. "
        f"{await _way_out(rig, tell)}"
    )


async def _ground(rig: Rig, mode: Mode, tell: Tell) -> int | None:
    """How many words a calibration may send within the ground of the run; None: as many as it likes."""
    if rig.ground is None:
        return None
    shortest = await rig.prompts.build(mode=mode, tokens=HEAD, seed="calibration", head="ground")
    counted = await _counted(rig, shortest, tell)
    return room(rig.ground, counted)


async def _way_out(rig: Rig, tell: Tell) -> str:
    """What helps where texts do not add up. Ids do where the server counts them one by one, and nowhere else."""
    name_it = "Name the model's tokenizer with --tokenizer DIR"
    try:
        taken = await _try_guesses(rig, tell)
    except RunStopped:
        return f"{name_it}."
    counts = await _counts_of_ids(rig, taken.usage.prompt_tokens, tell)
    if counts_otherwise(counts):
        return _of_another_tokenizer(counts)
    return f"{name_it}, or send ids with --mode ids." if adds_up(counts) else f"{name_it}."


async def _counts_of_ids(rig: Rig, of_trial: int | None, tell: Tell) -> Mapping[int, int]:
    deadline_s = min(DEADLINE_S, rig.settings.timeout_s)
    counts = await rig.recount.of(rig, "ids", "words", ground=rig.ground, deadline_s=deadline_s, tell=tell)
    return counts if of_trial is None else {**counts, TRIAL_TOKENS: of_trial}


def _of_another_tokenizer(counts: Mapping[int, int]) -> str:
    sent = max(SHORT_LENGTHS)
    said = in_words(counts, sent, "ids")
    return f"{said[0].upper()}{said[1:]}: {ASK_THE_ENGINE}."


async def _counted(rig: Rig, prompt: Prompt, tell: Tell) -> int:
    """The server's count of a text. Raises RunStopped where it does not answer, or answers without one."""
    reply = await _ask(rig, prompt, tell)
    if reply.status != 200 or reply.fault is not None or reply.error is not None:
        raise RunStopped(_unanswered(prompt.tokens, prompt.mode, reply))
    if reply.usage.prompt_tokens is None:
        raise RunStopped(
            "The target tells no usage, so nothing tells how long a text is. Name the model's tokenizer with "
            "--tokenizer DIR."
        )
    return reply.usage.prompt_tokens


async def _ask(rig: Rig, prompt: Prompt, tell: Tell) -> Reply:
    """The answer to a short prompt. Raises RunStopped where none comes in time, or nothing is there to give one."""
    deadline_s = min(DEADLINE_S, rig.settings.timeout_s)
    reply = await trial(rig, prompt, deadline_s, tell)
    if reply is None:
        raise RunStopped(
            f"The target does not answer a prompt of {prompt.tokens} tokens within {deadline_s:g} s: see its log, or "
            "give it more time with --timeout."
        )
    if reply.status in NOT_THERE:
        path, other = ("chat/completions", "text") if prompt.mode == "chat" else ("completions", "chat")
        raise RunStopped(f"The target takes no prompts at /v1/{path} ({_answered(reply)}): try --mode {other}.")
    return reply


def _unanswered(tokens: int, mode: Mode, reply: Reply) -> str:
    return (
        f"The target does not answer a prompt of {tokens} tokens, sent as {mode} ({_answered(reply)}): see its log, or "
        "send prompts another way with --mode."
    )


def _answered(reply: Reply) -> str:
    """What came back, in the server's own words where it has some."""
    if reply.status is None:
        return reply.fault_text or f"{reply.fault}"
    words = reply.error.message if reply.error else reply.fault_text or reply.excerpt
    return f"HTTP {reply.status}: {words[:200]}" if words else f"HTTP {reply.status}"
