"""How does a measurement of speed read? PURE: one row a cell, to a machine and to a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from fuzzer.finding import FindingKind
from fuzzer.measure.ratio import Ratio, ratios_of
from fuzzer.measure.reading import Mark
from fuzzer.measure.scatter import Spread
from fuzzer.measure.speed import Cell, Measured, cells, dead_drafter
from fuzzer.model import Role
from fuzzer.plans.answers import Answers
from fuzzer.plans.speed import SpeedQuestion
from fuzzer.report.finding import finding_object
from fuzzer.report.plain import plain
from fuzzer.report.words import plural, span, tokens

if TYPE_CHECKING:
    from fuzzer.finding import Finding
    from fuzzer.observation import Observation
    from fuzzer.store import Run
    from targets.scrape import DraftCounts

SCHEMA: Final = "ctxfuzz.speed/1"
PLAN: Final = "speed"
TARGET: Final = "target"
ARROW: Final = " -> "
COLUMNS: Final = ("length", "content", "in flight", "cache", "tok/s", "ratio", "scatter", "acceptance", "first token")
WHY: Final = {
    Mark.PROVISIONAL: "taken before the engine was warm",
    Mark.CONTENDED: "taken while others were served",
    Mark.CACHE: "taken from a prompt that the cache served otherwise than asked",
    Mark.UNTOLD: "came all at once and told no speed",
}


@dataclass(frozen=True)
class Arm:
    """One arm: its run with its probes; None where it could not be begun."""

    name: str
    url: str
    run: Run | None
    seen: Sequence[Observation]

    @cached_property
    def cells(self) -> Mapping[Cell, Measured]:
        if self.run is None:
            return {}
        question = SpeedQuestion.from_json(self.run.record.question)
        return cells(Answers(self.seen, question.fail_on).evidence, question.repeats)

    def short(self, content: str) -> DraftCounts | None:
        """What a short prompt of this content had drafted."""
        shorts = (one for one in self.seen if one.spec.role is Role.BASELINE and one.spec.content == content)
        return next((one.draft for one in shorts), None)

    def dead_drafter(self, cell: Cell) -> str | None:
        return dead_drafter(self.cells[cell], self.short(cell.content)) if cell in self.cells else None


@dataclass(frozen=True, slots=True)
class Row:
    """One cell in all arms, the target's first. `ratio` is that of the target to the last control."""

    cell: Cell
    figures: tuple[Measured | None, ...]
    ratio: Ratio | None
    factors: tuple[Ratio, ...]


def rows(arms: Sequence[Arm]) -> list[Row]:
    """Every cell that any arm has begun, in the order of the table."""
    begun = dict.fromkeys(cell for arm in arms for cell in arm.cells)
    return [_row(cell, [arm.cells.get(cell) for arm in arms]) for cell in begun]


def _row(cell: Cell, figures: Sequence[Measured | None]) -> Row:
    taken = [{} if one is None else one.by_turn for one in figures]
    compared = ratios_of(taken) if len(taken) > 1 else None
    if compared is None:
        return Row(cell, tuple(figures), None, ())
    return Row(cell, tuple(figures), compared.total, compared.factors if len(taken) > 2 else ())


def speed_object(
    run: Run, finding: Finding, seen: Sequence[Observation], elapsed_s: float, arms: Sequence[Arm]
) -> dict[str, Any]:
    """The object of `speed --json`: the finding's keys, and `arms` and `cells`."""
    return {**finding_object(run, finding, seen, elapsed_s), "schema": SCHEMA, **table_object(arms)}


def table_object(arms: Sequence[Arm]) -> dict[str, Any]:
    """The arms, and what was measured in each cell, as plain JSON types."""
    return {"arms": [_arm_object(arm) for arm in arms], "cells": [_row_object(row, arms) for row in rows(arms)]}


def _arm_object(arm: Arm) -> dict[str, Any]:
    run = arm.run
    finding = None if run is None else run.finding
    return {
        "name": arm.name,
        "url": arm.url,
        "run": None if run is None else run.run,
        "engine": None if run is None else {"name": run.record.engine, "version": run.record.engine_version},
        "finding": None if finding is None else finding.kind.value,
        "reason": "it could not be begun" if run is None else "" if finding is None else finding.reason,
    }


def _row_object(row: Row, arms: Sequence[Arm]) -> dict[str, Any]:
    return {
        **asdict(row.cell),
        "arms": [_figures_object(arm, row.cell, one) for arm, one in zip(arms, row.figures, strict=True)],
        "ratio": None if row.ratio is None else asdict(row.ratio),
        "factors": [asdict(factor) for factor in row.factors],
    }


def _figures_object(arm: Arm, cell: Cell, one: Measured | None) -> dict[str, Any] | None:
    if one is None:
        return None
    spread, modes = one.spread
    return {
        "name": arm.name,
        "decode_tokens_per_s": one.speed,
        "ttft_s": one.first_token_s,
        "scatter": one.scatter,
        "spread": spread.value,
        "modes": None if modes is None else asdict(modes),
        "figures": one.speeds,
        "provisional": one.provisional,
        "left_out": {mark.value: count for mark, count in one.left_out.items()},
        "warm_ups_s": list(one.warm_ups),
        "drafts": None if one.draft is None else one.draft.drafts,
        "accepted_tokens": None if one.draft is None else one.draft.accepted_tokens,
        "mean_acceptance_length": None if one.draft is None else one.draft.mean_acceptance_length,
        "dead_drafter": arm.dead_drafter(cell),
    }


def as_text(arms: Sequence[Arm]) -> str:
    """The table as plain lines, its columns aligned, and below it what has to be known of its figures."""
    lines = [COLUMNS, *map(cells_of, rows(arms))]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    table = ("  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines)
    legend = [f"arms: {ARROW.join(arm.name for arm in reversed(arms))}"] if len(arms) > 1 else []
    return "\n".join([*table, *legend, *notes(arms)])


def cells_of(row: Row) -> tuple[str, ...]:
    """One row of the table, in the order of COLUMNS. Arms stand from the last control to the target."""
    figures = row.figures[::-1]
    return (
        tokens(row.cell.length),
        row.cell.content,
        str(row.cell.concurrency),
        row.cell.cache,
        ARROW.join(map(_speed, figures)),
        _ratio(row),
        _scatter(figures),
        ARROW.join(map(_acceptance, figures)),
        ARROW.join(map(_first_token, figures)),
    )


def _speed(one: Measured | None) -> str:
    if one is None or one.speed is None:
        return "-"
    return f"{one.speed:,.1f}{'?' if one.provisional else ''}{'*' if one.spread[0] is Spread.BIMODAL else ''}"


def _ratio(row: Row) -> str:
    if row.ratio is None:
        return "-"
    interval = "" if row.ratio.low is None else f" ({row.ratio.low:.2f} to {row.ratio.high:.2f})"
    product = " x ".join(f"{factor.value:.2f}" for factor in reversed(row.factors))
    return f"{row.ratio.value:.2f}{interval}{f' = {product}' if product else ''}"


def _scatter(figures: Sequence[Measured | None]) -> str:
    known = [one.scatter for one in figures if one is not None and one.scatter is not None]
    if not known:
        return "-"
    low, high = f"{min(known):.2f}", f"{max(known):.2f}"
    return low if low == high else f"{low} to {high}"


def _acceptance(one: Measured | None) -> str:
    length = None if one is None or one.draft is None else one.draft.mean_acceptance_length
    return "-" if length is None else f"{length:.2f}"


def _first_token(one: Measured | None) -> str:
    return "-" if one is None or one.first_token_s is None else span(one.first_token_s)


def notes(arms: Sequence[Arm]) -> Iterator[str]:
    """What has to be known of the figures, each in a sentence that names its cell and arm."""
    for row in rows(arms):
        yield from (f"{_where(row.cell)}: {words}" for words in _of_pairs(row))
    for arm in arms:
        for cell, one in arm.cells.items():
            for words in (*_of_figures(one), *filter(None, [arm.dead_drafter(cell)])):
                yield plain(f"{_where(cell)}, {arm.name}: {words}", 400)
        finding = None if arm.run is None else arm.run.finding
        if len(arms) > 1 and (finding is None or finding.kind is not FindingKind.NONE):
            yield plain(f"{arm.name} has not come to its end{'' if finding is None else f': {finding.reason}'}", 400)


def _of_pairs(row: Row) -> Iterator[str]:
    """Where an arm took more figures than another, the ratio does not rest on all of them."""
    if row.ratio is None:
        return
    if row.ratio.pairs == 0:
        yield "the ratio is that of the means: too few turns have figures in all arms for drift to cancel"
    elif any(len(one.figures) != row.ratio.pairs for one in row.figures if one is not None):
        yield f"the ratio is that of the {plural(row.ratio.pairs, 'turn')} in which all arms have figures"


def _of_figures(one: Measured) -> Iterator[str]:
    kind, modes = one.spread
    if one.provisional:
        warming = ", ".join(span(took) for took in one.warm_ups)
        yield f"provisional (?): the first-run effect was not seen to go (warm-ups: {warming})"
    match kind:
        case Spread.BIMODAL if modes is not None:
            yield (
                f"bimodal (*), an operational fact and not noise: {modes.low:,.1f} tok/s in {modes.low_count} and "
                f"{modes.high:,.1f} in {modes.high_count} of {modes.low_count + modes.high_count}"
            )
        case Spread.NOISY:
            yield f"noisy: figures scatter by {one.scatter:.2f} without two modes"
        case Spread.SETTLED:
            yield f"settled late: the first {plural(one.repeats, 'figure')} scatter and are left out"
        case _:
            pass
    for mark, count in one.left_out.items():
        yield f"{plural(count, 'probe')} {WHY[mark]}: not averaged"


def _where(cell: Cell) -> str:
    company = "" if cell.concurrency == 1 else f" x {cell.concurrency}"
    return f"{tokens(cell.length)} {cell.content}{company} {cell.cache}"
