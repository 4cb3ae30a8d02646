"""What does a row of runs.db say, in the program's words?"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from fuzzer.model import Observation, ProbeSpec
from fuzzer.store import codec
from fuzzer.store.order import BEGUN_AFTER
from fuzzer.store.records import Intent, RunRecord

if TYPE_CHECKING:
    import sqlite3


def record_of(row: sqlite3.Row) -> RunRecord:
    """What was asked."""
    return RunRecord(
        command=row["command"],
        argv=tuple(json.loads(row["argv_json"])),
        url=row["url"],
        model=row["model"],
        engine=row["engine"],
        plan=row["plan"],
        engine_version=row["engine_version"],
        limit=row["advertised_limit_tokens"],
        question=json.loads(row["question_json"]),
        settings={name: value for name, value in dict(json.loads(row["settings_json"])).items() if name != BEGUN_AFTER},
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
        recipe=json.loads(row["recipe_json"]),
    )


def observation_of(row: sqlite3.Row) -> Observation:
    """What was seen, of a row with its spec."""
    fields = json.loads(row["observation_json"])
    return codec.decode(Observation, {**fields, "seq": row["seq"], "spec": json.loads(row["spec_json"])})


def after_revival(before: Observation, row: sqlite3.Row) -> Observation:
    """What was seen, with how the wait after it ended."""
    relapses = row["relapses"] if "relapses" in row.keys() else None  # noqa: SIM118  (a row is no mapping)
    return replace(
        before if relapses is None else before.relapsed(relapses),
        revival_s=row["took_s"],
        revived=bool(row["came_back"]),
        cost_s=before.cost_s if row["cost_s"] is None else row["cost_s"],
        canaries=before.canaries if row["canaries"] is None else row["canaries"],
    )
