"""Is a prompt that is cut in silence found out where streams tell no counts, and is it said how it was asked?"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from fuzzer.cli import opening, questions
from fuzzer.cli.common import CommonFlags
from fuzzer.events import Event, Note
from fuzzer.finding import FindingKind
from fuzzer.model import Outcome
from fuzzer.plans.whole import ASKED_WHOLE
from fuzzer.report.finding import finding_object
from tests.integration.raw import Writer, chunk
from tests.integration.staging import QUICK, SSE_HEAD, body, events, page, staged

if TYPE_CHECKING:
    from pathlib import Path

    from fuzzer.cli.session import Result

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]
CUT = 1_500


NOTHING = b"{}"
ZEROS = b'{"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}'


async def cutting(writer: Writer, asked: Mapping[str, Any], usage: bytes = NOTHING) -> None:
    """Reads so many tokens, whatever is sent, and says so in whole answers alone."""
    if asked.get("stream"):
        *tokens, _usage, done = events(asked)
        last = b'data: {"choices": [{"text": "", "finish_reason": "length"}], "usage": ' + usage + b"}\n\n"
        writer.write(SSE_HEAD + b"".join(map(chunk, [*tokens, last, done])) + b"0\r\n\r\n")
    else:
        writer.write(page(body(asked, prompt_tokens=min(len(asked["prompt"]), CUT))))


async def swept(folder: Path, heard: list[Event], usage: bytes = NOTHING) -> Result:
    async with staged(partial(cutting, usage=usage), long=1) as stage:
        flags = CommonFlags(url=stage.url, db=folder / "runs.db", output_tokens=8, timeout_s=20.0, seed=1)
        async with opening.opened(flags, pace=QUICK, sample_s=0.05) as opened:
            asked = questions.Asked("sweep", questions.to_sweep(opened, [1_000, 2_000], (), keep_going=True))
            return await opened.run("sweep", asked, [heard.append], anyio.Event())


@pytest.mark.parametrize("usage", [NOTHING, ZEROS])
async def test_a_prompt_that_is_cut_in_silence_is_found_by_whole_answers(usage: bytes, tmp_path: Path) -> None:
    heard: list[Event] = []
    result = await swept(tmp_path, heard, usage)
    shown = [(seen.spec.length, seen.spec.stream, seen.outcome) for seen in result.observations]
    assert shown == [
        (64, True, Outcome.PASS),
        (64, False, Outcome.PASS),
        (1_000, False, Outcome.PASS),
        (2_000, False, Outcome.TRUNCATED),
    ]
    assert (result.finding.kind, result.finding.last_good) == (FindingKind.TRUNCATED, 1_000)
    assert [event.text for event in heard if isinstance(event, Note)] == [ASKED_WHOLE]


async def test_the_finding_says_that_answers_were_not_streamed(tmp_path: Path) -> None:
    result = await swept(tmp_path, [])
    told = finding_object(result.run_row, result.finding, result.observations, result.elapsed_s)
    assert told["conditions"]["stream"] is False
    assert ASKED_WHOLE in told["assumes"]
