"""Which tables does runs.db have, and what keeps their rows as they were written?

Every row of a run, whatever its table, is a link of the run's hash chain: `(run, position)` is its place, `chain`
keeps the hash. Rows are immutable from birth: what is learnt later is a row of its own. A dataclass of the model is
kept whole, as JSON; the generated columns beside it are windows on that JSON for whoever asks in SQL.
`at_s` is active seconds of the run, `at_utc` when the row was written. All of this is the first migration, so it is
never edited: what changes a table is a migration of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sqlite_utils import Database

# The tables whose rows are links, in the order in which a run's first rows are written.
LINKED: Final = (
    "runs",
    "resumes",
    "probes",
    "outcomes",
    "canaries",
    "health_events",
    "deaths",
    "revivals",
    "notes",
    "seals",
)

_PLACE = """
    run TEXT NOT NULL,
    position INTEGER NOT NULL,
    at_utc TEXT NOT NULL,
"""

_LINK = """
    PRIMARY KEY (run, position),
    FOREIGN KEY (run, position) REFERENCES chain (run, position) DEFERRABLE INITIALLY DEFERRED
"""


def stored_columns(db: Database, table: str) -> list[str]:
    """The table's columns in their order, without the generated ones: those that a link covers."""
    found = db.execute("SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0 ORDER BY cid", (table,))
    return [name for (name,) in found]


def _window(column: str, kind: str, json: str, path: str) -> str:
    return f"{column} {kind} GENERATED ALWAYS AS ({json} ->> '$.{path}') VIRTUAL,"


TABLES: Final = f"""
CREATE TABLE chain (
    run TEXT NOT NULL,
    position INTEGER NOT NULL CHECK (position > 0),
    kind TEXT NOT NULL,
    hash TEXT NOT NULL CHECK (length(hash) = 64),
    PRIMARY KEY (run, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE runs ({_PLACE}
    command TEXT NOT NULL,
    argv_json TEXT NOT NULL,
    url TEXT NOT NULL,
    model TEXT NOT NULL,
    engine TEXT NOT NULL,
    engine_version TEXT,
    advertised_limit_tokens INTEGER,
    plan TEXT NOT NULL,
    question_json TEXT NOT NULL,
    settings_json TEXT NOT NULL,
    user TEXT NOT NULL,
    host TEXT NOT NULL,
    ctxfuzz_version TEXT NOT NULL,
    CHECK (position = 1),
    {_LINK}
) STRICT;
CREATE INDEX runs_of_build ON runs (model, engine_version);
CREATE INDEX runs_by_time ON runs (at_utc);

CREATE TABLE resumes ({_PLACE}
    at_s REAL NOT NULL,
    argv_json TEXT NOT NULL,
    user TEXT NOT NULL,
    host TEXT NOT NULL,
    ctxfuzz_version TEXT NOT NULL,
    {_LINK}
) STRICT;

-- The intent: committed before the request leaves.
CREATE TABLE probes ({_PLACE}
    at_s REAL NOT NULL,
    seq INTEGER NOT NULL,
    sent_tokens INTEGER NOT NULL,
    body_sha256 TEXT NOT NULL,
    body_bytes INTEGER NOT NULL,
    recipe_json TEXT NOT NULL,
    spec_json TEXT NOT NULL,
    {_window("asked_tokens", "INTEGER", "spec_json", "length")}
    {_window("output_tokens", "INTEGER", "spec_json", "output_tokens")}
    {_window("role", "TEXT", "spec_json", "role")}
    {_window("reason", "TEXT", "spec_json", "reason")}
    {_window("content", "TEXT", "spec_json", "content")}
    {_window("mode", "TEXT", "spec_json", "mode")}
    {_window("stream", "INTEGER", "spec_json", "stream")}
    {_window("cache", "TEXT", "spec_json", "cache")}
    {_window("stop_after_tokens", "INTEGER", "spec_json", "stop_after")}
    UNIQUE (run, seq),
    {_LINK}
) STRICT;

-- What the probe showed: committed before the next step is decided.
CREATE TABLE outcomes ({_PLACE}
    seq INTEGER NOT NULL,
    observation_json TEXT NOT NULL,
    evidence_json TEXT NOT NULL,
    {_window("outcome", "TEXT", "observation_json", "outcome")}
    {_window("length_tokens", "INTEGER", "observation_json", "length")}
    {_window("length_source", "TEXT", "observation_json", "length_source")}
    {_window("reason", "TEXT", "observation_json", "reason")}
    {_window("corroboration", "TEXT", "observation_json", "corroboration")}
    {_window("clamped", "INTEGER", "observation_json", "clamped")}
    {_window("contended", "INTEGER", "observation_json", "contended")}
    {_window("wedged", "INTEGER", "observation_json", "wedged")}
    {_window("deaths", "INTEGER", "observation_json", "deaths")}
    {_window("completion_tokens", "INTEGER", "observation_json", "completion_tokens")}
    {_window("cached_tokens", "INTEGER", "observation_json", "cached_tokens")}
    {_window("drafts", "REAL", "observation_json", "draft.drafts")}
    {_window("draft_tokens", "REAL", "observation_json", "draft.draft_tokens")}
    {_window("accepted_tokens", "REAL", "observation_json", "draft.accepted_tokens")}
    {_window("started_s", "REAL", "observation_json", "started_s")}
    {_window("ended_s", "REAL", "observation_json", "ended_s")}
    {_window("duration_s", "REAL", "observation_json", "duration_s")}
    {_window("ttft_s", "REAL", "observation_json", "ttft_s")}
    {_window("incarnation", "INTEGER", "observation_json", "incarnation")}
    {_window("ordinal", "INTEGER", "observation_json", "ordinal")}
    {_window("signature", "TEXT", "observation_json", "signature")}
    UNIQUE (run, seq),
    FOREIGN KEY (run, seq) REFERENCES probes (run, seq),
    {_LINK}
) STRICT;

CREATE TABLE canaries ({_PLACE}
    at_s REAL NOT NULL,
    seq INTEGER,
    purpose TEXT NOT NULL,
    canary_json TEXT NOT NULL,
    {_window("ok", "INTEGER", "canary_json", "ok")}
    {_window("duration_s", "REAL", "canary_json", "duration_s")}
    {_window("status", "INTEGER", "canary_json", "status")}
    {_window("fault", "TEXT", "canary_json", "fault")}
    FOREIGN KEY (run, seq) REFERENCES probes (run, seq),
    {_LINK}
) STRICT;

-- Only where health changed.
CREATE TABLE health_events ({_PLACE}
    at_s REAL NOT NULL,
    status INTEGER,
    fault TEXT,
    detail TEXT NOT NULL,
    {_LINK}
) STRICT;

CREATE TABLE deaths ({_PLACE}
    at_s REAL NOT NULL,
    seq INTEGER,
    corroboration TEXT NOT NULL,
    signature TEXT NOT NULL,
    last_words TEXT NOT NULL,
    FOREIGN KEY (run, seq) REFERENCES probes (run, seq),
    {_LINK}
) STRICT;

CREATE TABLE revivals ({_PLACE}
    at_s REAL NOT NULL,
    seq INTEGER,
    took_s REAL NOT NULL,
    came_back INTEGER NOT NULL,
    cost_s REAL,
    canaries INTEGER,
    FOREIGN KEY (run, seq) REFERENCES probes (run, seq),
    {_LINK}
) STRICT;

CREATE TABLE notes ({_PLACE}
    at_s REAL NOT NULL,
    level TEXT NOT NULL,
    text TEXT NOT NULL,
    hint TEXT NOT NULL,
    {_LINK}
) STRICT;

-- The run ends: its position is the number of rows that it seals, its hash is the head of the run's chain.
CREATE TABLE seals ({_PLACE}
    at_s REAL NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('done', 'interrupted', 'halted')),
    finding_json TEXT,
    previous_heads_json TEXT NOT NULL,
    {_window("finding", "TEXT", "finding_json", "kind")}
    {_window("last_good_tokens", "INTEGER", "finding_json", "last_good")}
    {_window("first_bad_tokens", "INTEGER", "finding_json", "first_bad")}
    {_window("first_rejected_tokens", "INTEGER", "finding_json", "first_rejected")}
    {_window("verified_up_to_tokens", "INTEGER", "finding_json", "verified_up_to")}
    {_window("cap_tokens", "INTEGER", "finding_json", "cap")}
    {_window("reason", "TEXT", "finding_json", "reason")}
    {_LINK}
) STRICT;
"""


def guards(table: str) -> str:
    """Rows of `table` are never changed or deleted, and a new one comes right after the run's last."""
    return f"""
CREATE TRIGGER {table}_never_change BEFORE UPDATE ON {table}
BEGIN SELECT RAISE(ABORT, 'a recorded row is never changed'); END;
CREATE TRIGGER {table}_never_go BEFORE DELETE ON {table}
BEGIN SELECT RAISE(ABORT, 'a recorded row is never deleted'); END;
CREATE TRIGGER {table}_only_grow BEFORE INSERT ON {table}
WHEN NEW.position IS NOT (SELECT coalesce(max(position), 0) + 1 FROM chain WHERE run = NEW.run)
BEGIN SELECT RAISE(ABORT, 'a row is only added at the end of its run'); END;
"""  # noqa: S608  (our own names)
