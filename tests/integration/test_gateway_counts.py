"""What is claimed where a gateway counts prompts with another tokenizer than the engine's? Nothing, and it is said."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from fuzzer.before.tuning import tune
from fuzzer.cli import exits, opening, questions, session
from fuzzer.cli.common import CommonFlags
from fuzzer.errors import Interrupted, RunStopped
from fuzzer.finding import FindingKind, Halt
from fuzzer.model import Outcome, Settings
from fuzzer.outcome.counting import SHORT_LENGTHS
from fuzzer.prompts import PromptSource
from fuzzer.rig import Rig
from fuzzer.store import History
from targets.detect import connect
from tests.integration.playing import play
from tests.integration.raw import Writer, chunk
from tests.integration.staging import QUICK, SSE_HEAD, Act, body, events, page, page_not_found, probe, staged

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

Count = Callable[[int], int]
NO_TOKENIZER = {"/tokenize": page_not_found()}
ANOTHER = r"counts \d+ for \d+ ids that were sent: another tokenizer counts \(a gateway's\?\): .* --url"


def counting(count: Count, of_texts: Count | None = None) -> Act:
    """Answers well, and counts by `count`; a text of so many words by `of_texts`, where that is another."""

    async def act(writer: Writer, asked: Mapping[str, Any]) -> None:
        prompt = asked["prompt"]
        is_text = isinstance(prompt, str)
        counted = (of_texts or count)(len(prompt.split())) if is_text else count(len(prompt))
        if asked.get("stream"):
            writer.write(SSE_HEAD + b"".join(map(chunk, events(asked, counted))) + b"0\r\n\r\n")
        else:
            writer.write(page(body(asked, prompt_tokens=counted)))

    return act


@pytest.mark.parametrize(
    ("count", "most_sent"),
    [
        (lambda n: int(0.9 * n), 500),
        (lambda n: int(1.13 * n) + 7, 500),
        (lambda n: round(0.98 * n), 500),
        (lambda n: int(0.9 * n) + 7, 2_000),  # 64 for 64, by chance: the next one shows it
    ],
    ids=["fewer", "more", "nearly ours", "right by chance"],
)
async def test_a_count_in_proportion_is_no_truncation(count: Count, most_sent: int, tmp_path: Path) -> None:
    async with staged(counting(count), long=1) as stage:
        stage.asks = 2_000
        seen = await probe(tmp_path, stage)
    assert (seen.outcome, seen.length, seen.length_source) == (Outcome.INFRA, seen.sent_tokens, "inferred")
    assert "another tokenizer counts" in seen.reason
    assert max(stage.lengths) == most_sent
    assert [stage.lengths.count(length) for length in SHORT_LENGTHS] == [1, 1]


ASKED: dict[str, Callable[[session.Session], questions.Question]] = {
    "bisect": lambda opened: questions.to_bisect(opened, {"lo": 1_000, "hi": 3_000}, ()),
    "probe": lambda opened: questions.to_probe(opened, 2_000).question,
    "sweep": lambda opened: questions.to_sweep(opened, [1_000, 2_000], (), keep_going=True),
    "verify": lambda opened: questions.to_verify(opened, 4_096, None),
    "fuzz": lambda opened: questions.to_fuzz(opened, 3_000, most_samples=3),
    "speed": lambda opened: questions.to_speed(opened, [1_000], (), (1,), 3),
}


@pytest.mark.parametrize("command", ASKED)
async def test_every_command_stops_as_inconclusive(command: str, tmp_path: Path) -> None:
    async with staged(counting(lambda n: int(0.9 * n)), long=1) as stage:
        flags = CommonFlags(url=stage.url, db=tmp_path / "runs.db", output_tokens=8, timeout_s=20.0, seed=1)
        async with opening.opened(flags, pace=QUICK, sample_s=0.05) as opened:
            asked = questions.Asked(command, ASKED[command](opened))
            finding = (await opened.run(command, asked, [], anyio.Event())).finding
    assert (finding.kind, finding.halt, finding.cap) == (FindingKind.INCONCLUSIVE, Halt.PROXY, None)
    assert exits.exit_of(finding) is exits.Exit.INCONCLUSIVE
    assert max(stage.lengths) == max(SHORT_LENGTHS)


async def test_ids_from_a_guess_are_found_out_before_the_first_probe(tmp_path: Path) -> None:
    async with staged(counting(lambda n: int(0.9 * n) + 7), long=1, pages=NO_TOKENIZER) as stage:
        with pytest.raises(RunStopped, match=ANOTHER):
            await probe(tmp_path, stage)
    assert max(stage.lengths) == max(SHORT_LENGTHS)


@pytest.mark.parametrize(
    "shortened", [lambda _: 801, lambda n: n // 2, lambda n: int(0.9 * n)], ids=["to a limit", "to a half", "by a bit"]
)
@pytest.mark.parametrize("added", [0, 1, 20])
async def test_what_is_shortened_above_a_limit_stays_truncated(shortened: Count, added: int, tmp_path: Path) -> None:
    async with staged(counting(lambda n: (n if n <= 800 else shortened(n)) + added), long=1) as stage:
        stage.asks = 1_000
        seen = await probe(tmp_path, stage)
    assert seen.outcome is Outcome.TRUNCATED


@pytest.mark.parametrize("told", [65, 100])
async def test_a_figure_that_is_the_same_for_all_is_no_truncation(told: int, tmp_path: Path) -> None:
    """65 is what an engine with a BOS counts of the shortest prompt: the next one shows it."""
    async with staged(counting(lambda _: told), long=1) as stage:
        stage.asks = 1_000
        seen = await probe(tmp_path, stage)
    assert seen.outcome is Outcome.INFRA
    assert "its count says nothing of a prompt's length" in seen.reason


@pytest.mark.parametrize("window", [66, 119, 121, 499])
async def test_a_small_window_stays_one(window: int, tmp_path: Path) -> None:
    async with staged(counting(lambda n: min(n + 1, window)), long=1) as stage:
        stage.asks = 1_000
        seen = await probe(tmp_path, stage)
    assert seen.outcome is Outcome.TRUNCATED


def caching(head: int, window: int) -> Act:
    """Adds a head to each prompt, reads as much of the two as fits, and counts what its cache did not hold."""
    known: list[int] = []

    def count(sent: int) -> int:
        known.append(sent)
        return min(sent + head, window) - head * (len(known) > 1)

    return counting(count)


@pytest.mark.parametrize(("asks", "outcome"), [(1_500, Outcome.PASS), (1_501, Outcome.TRUNCATED)])
@pytest.mark.parametrize("head", [1, 25])
async def test_a_count_without_what_a_cache_held_is_no_truncation(
    head: int, asks: int, outcome: Outcome, tmp_path: Path
) -> None:
    """mlx_lm.server counts so. What it cuts for good is found to the token."""
    async with staged(caching(head, window=1_500), long=1) as stage:
        stage.asks = asks
        seen = await probe(tmp_path, stage)
    assert (seen.outcome, max(stage.lengths)) == (outcome, asks - head)


async def test_what_told_the_counts_is_on_record(tmp_path: Path) -> None:
    async with staged(counting(lambda n: int(0.9 * n)), long=1) as stage:
        seen = await probe(tmp_path, stage)
    with History.open(tmp_path / "runs.db") as history:
        run = history.get("last")
        sent = [row["what"] for row in history.timeline(run.run) if row["kind"] == "canary"]
    assert sent == ["after-probe: fine", "recount: fine", "recount: fine"]
    assert (seen.canaries, run.canaries, len(stage.lengths)) == (3, 3, run.probes + run.canaries)


async def test_so_is_what_made_texts_fit(tmp_path: Path) -> None:
    async with staged(pages=NO_TOKENIZER) as stage:
        await probe(tmp_path, stage)
    with History.open(tmp_path / "runs.db") as history:
        run = history.get("last")
    assert len(stage.lengths) == run.probes + run.canaries


async def test_an_interruption_is_heard_while_short_prompts_are_counted(tmp_path: Path) -> None:
    """The probe whose count they were to explain is no evidence then."""
    stop, counted = anyio.Event(), counting(lambda n: int(0.9 * n))

    async def act(writer: Writer, asked: Mapping[str, Any]) -> None:
        if len(asked["prompt"]) == SHORT_LENGTHS[0]:
            stop.set()
            await anyio.sleep(60)
        await counted(writer, asked)

    async with staged(act, long=1) as stage:
        flags = CommonFlags(url=stage.url, db=tmp_path / "runs.db", output_tokens=8, timeout_s=60.0)
        async with opening.opened(flags, pace=QUICK, sample_s=0.05) as opened:
            with anyio.fail_after(20), pytest.raises(Interrupted):
                await opened.run("probe", questions.to_probe(opened, 300), [], stop)
    with History.open(tmp_path / "runs.db") as history:
        run = history.get("last")
        (seen,) = history.observations(run.run)
    assert (run.status, seen.outcome, seen.canaries, run.canaries) == ("interrupted", Outcome.ABANDONED, 2, 2)


async def test_a_truncation_below_lo_keeps_its_edge_and_costs_two_short_prompts(tmp_path: Path) -> None:
    async with staged(counting(lambda n: min(n, 800)), long=1) as stage:
        flags = CommonFlags(url=stage.url, db=tmp_path / "runs.db", output_tokens=8, timeout_s=20.0)
        finding = (await play(flags, lo=1_000, hi=3_000, attribute_axis=False, tolerate=0.6)).finding
    assert (finding.kind, finding.last_good, finding.first_bad) == (FindingKind.TRUNCATED, 800, 801)
    assert purposes(tmp_path).count("recount") == len(SHORT_LENGTHS)


def purposes(folder: Path) -> list[str]:
    """For what each short prompt of the record was sent that is no probe."""
    with closing(sqlite3.connect(folder / "runs.db")) as db:
        return [purpose for (purpose,) in db.execute("SELECT purpose FROM canaries")]


async def test_a_bos_is_not_asked_about(tmp_path: Path) -> None:
    async with staged(counting(lambda n: n + 1), long=1) as stage:
        seen = await probe(tmp_path, stage)
    assert (seen.outcome, seen.length) == (Outcome.PASS, stage.asks)
    assert not {*SHORT_LENGTHS} & {*stage.lengths}


async def refusing_ids(writer: Writer, asked: Mapping[str, Any]) -> None:
    if isinstance(asked["prompt"], str):
        await counting(lambda n: 2 * n)(writer, asked)
    else:
        writer.write(page({"error": {"message": "prompt must be a string"}}, 400))


@pytest.mark.parametrize(
    ("act", "said", "ids_help"),
    [
        (counting(lambda n: int(0.9 * n)), ANOTHER, False),
        (counting(lambda n: n, of_texts=lambda n: 2 * n), r"--tokenizer DIR, or send ids with --mode ids\.$", True),
        (counting(lambda n: min(n, 20)), r"--tokenizer DIR\.$", False),
        (counting(lambda _: 100), r"counts 100 for 16 ids as for 500: .* says nothing .* --url", False),
        (refusing_ids, r"--tokenizer DIR\.$", False),
    ],
    ids=["gateway", "words of two tokens", "shortened", "one figure", "no ids"],
)
async def test_ids_are_advised_only_where_they_help(act: Act, said: str, ids_help: bool) -> None:
    async with staged(act, long=1, pages=NO_TOKENIZER) as stage:
        target, _ = await connect(stage.url)
        rig = Rig(target, await PromptSource.open(), Settings(), stop=anyio.Event())
        with pytest.raises(RunStopped, match="short texts do not add up") as stopped:
            await tune(rig, "text")
        await target.aclose()
    assert stopped.match(said)
    assert ("--mode ids" in str(stopped.value)) is ids_help
