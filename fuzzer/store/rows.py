"""What does a row of runs.db say, in the program's words?"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from fuzzer.model import Corroboration, ProbeSpec
from fuzzer.observation import Observation
from fuzzer.store import codec
from fuzzer.store.order import BEGUN_AFTER
from fuzzer.store.records import Death, Intent, RunRecord

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Mapping

_OBJECT = dict[str, object]

R = TypeVar("R")
K = TypeVar("K")


def whole(row: sqlite3.Row) -> sqlite3.Row:
    """The row. Raises ValueError where it holds what no ctxfuzz writes: bytes, or a text that is no UTF-8."""
    for value in row:
        if isinstance(value, bytes) or not is_text(value):
            raise ValueError("it holds what is no UTF-8")
    return row


def is_text(value: object) -> bool:
    """Was it stored as UTF-8, if it is a text? What was not is read with lone surrogates in it."""
    return not isinstance(value, str) or value.isascii() or codec.clean(value) == value


def record_of(row: sqlite3.Row) -> RunRecord:
    """What was asked."""
    settings = codec.loads(_OBJECT, row["settings_json"])
    return RunRecord(
        command=row["command"],
        argv=codec.loads(tuple[str, ...], row["argv_json"]),
        url=row["url"],
        model=row["model"],
        engine=row["engine"],
        plan=row["plan"],
        engine_version=row["engine_version"],
        limit=row["advertised_limit_tokens"],
        question=codec.loads(_OBJECT, row["question_json"]),
        settings={name: value for name, value in settings.items() if name != BEGUN_AFTER},
    )


def intent_of(row: sqlite3.Row) -> Intent:
    """What left, or was about to."""
    return Intent(
        seq=row["seq"],
        spec=codec.loads(ProbeSpec, row["spec_json"]),
        started_s=row["at_s"],
        sent_tokens=row["sent_tokens"],
        body_sha256=row["body_sha256"],
        body_bytes=row["body_bytes"],
        recipe=codec.loads(_OBJECT, row["recipe_json"]),
    )


def observation_of(row: sqlite3.Row) -> Observation:
    """What was seen, of a row with its spec."""
    fields = json.loads(row["observation_json"])
    return codec.decode(Observation, {**fields, "seq": row["seq"], "spec": json.loads(row["spec_json"])})


def death_of(row: sqlite3.Row) -> Death:
    """A death, with its last words."""
    return Death(**{**dict(row), "corroboration": Corroboration(row["corroboration"])})


def after_revival(before: Observation, row: Mapping[str, Any]) -> Observation:
    """What was seen, with how the wait after it ended."""
    relapses = row.get("relapses")
    return replace(
        before if relapses is None else before.relapsed(relapses),
        revival_s=row["took_s"],
        revived=bool(row["came_back"]),
        cost_s=before.cost_s if row["cost_s"] is None else row["cost_s"],
        canaries=before.canaries if row["canaries"] is None else row["canaries"],
    )


def as_it_ended(before: Observation, waits: Iterable[Mapping[str, Any]], deaths: Iterable[str]) -> Observation:
    """What was seen, with all that was learnt of it later: rows of revivals, and signatures of deaths, in order."""
    seen = before
    for row in waits:
        seen = after_revival(seen, row)
    for signature in deaths:
        seen = seen.ended_by(signature) if seen.ends_late else seen
    return seen


def grouped(rows: Iterable[R], key: Callable[[R], K]) -> dict[K, list[R]]:
    """The rows of each key, in their order."""
    groups: dict[K, list[R]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups
