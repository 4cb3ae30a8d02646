"""What does a durable row cost, beside plain sqlite3 with the same pragmas? And 10,000 runs in one file?

`python benchmarks/store.py [RUNS]` prints two tables. The appends are the store's own calls (an intent and its
outcome) against the same two rows as bare INSERTs, each in a transaction of its own that has reached the disk.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from statistics import median

from fuzzer.evidence import Canary
from fuzzer.finding import Finding, FindingKind
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.store import History, Intent, RunRecord, Store, audit, codec, connect

APPENDS = 400
ROUNDS = 5
PROBES = 8  # of each run in the big file

RECORD = RunRecord("bisect", ("ctxfuzz",), "http://h:1", "m", "vllm", "bisect", engine_version="0.32.0")
SPEC = ProbeSpec(length=262_107, output_tokens=32, role=Role.SEARCH, reason="halfway between 244689 and 300000")
INTENT = Intent(0, SPEC, 1.5, 262_107, "0" * 64, 1_600_000, {"seed": 7, "kind": "words", "length": 262_107})
SEEN = Observation(0, SPEC, Outcome.PASS, 262_107, "usage", duration_s=4.1, completion_tokens=32)
EVIDENCE = {"reply": {"status": 200, "headers": {"server": "uvicorn"}}, "health_during": [{"polls": 5}] * 8}
FOUND = Finding(FindingKind.DEATH, "one step apart", last_good=262_106, first_bad=262_107, cap=262_096)


def with_the_store(path: Path) -> float:
    with Store.open(path) as store:
        run = store.begin(RECORD)
        started = time.perf_counter()
        for seq in range(APPENDS):
            store.intend(run, replace(INTENT, seq=seq))
            store.complete(run, replace(SEEN, seq=seq), EVIDENCE)
        return time.perf_counter() - started


def with_plain_sqlite(path: Path) -> float:
    spec, seen, evidence = codec.dumps(SPEC), codec.dumps(SEEN), json.dumps(EVIDENCE)
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.execute("PRAGMA journal_mode = wal")
        conn.execute("PRAGMA synchronous = full")
        conn.execute("PRAGMA foreign_keys = on")
        conn.execute(
            "CREATE TABLE intents (seq INTEGER PRIMARY KEY, at_s REAL, sha TEXT, recipe TEXT, spec TEXT) STRICT"
        )
        conn.execute(
            "CREATE TABLE outcomes (seq INTEGER PRIMARY KEY REFERENCES intents, seen TEXT, evidence TEXT) STRICT"
        )
        started = time.perf_counter()
        for seq in range(APPENDS):
            conn.execute("INSERT INTO intents VALUES (?, ?, ?, ?, ?)", (seq, 1.5, "0" * 64, '{"seed":7}', spec))
            conn.execute("INSERT INTO outcomes VALUES (?, ?, ?)", (seq, seen, evidence))
        return time.perf_counter() - started


def compare_appends(folder: Path) -> None:
    taken: dict[str, list[float]] = {"plain sqlite3": [], "ctxfuzz store": []}
    for nth in range(ROUNDS):  # in turn, so that a slow moment of the disk meets both
        taken["plain sqlite3"].append(with_plain_sqlite(folder / f"plain{nth}.db"))
        taken["ctxfuzz store"].append(with_the_store(folder / f"store{nth}.db"))
    plain = median(taken["plain sqlite3"])
    print(f"{'durable appends':<16} {'ms per row':>10} {'ratio':>6}")
    for name, times in taken.items():
        print(f"{name:<16} {median(times) / APPENDS / 2 * 1000:>10.3f} {median(times) / plain:>6.2f}")


def fill(path: Path, runs: int) -> None:
    """Real rows of real calls; only the wait for the disk is left out, which the file does not show."""
    with Store.open(path) as store:
        store._db.execute("PRAGMA synchronous = off")  # noqa: SLF001
        for _ in range(runs):
            with connect.immediate(store._db):  # noqa: SLF001
                run = store.begin(RECORD)
                for seq in range(PROBES):
                    store.intend(run, replace(INTENT, seq=seq))
                    store.complete(run, replace(SEEN, seq=seq), EVIDENCE)
                    store.canary(run, Canary(ok=True, duration_s=0.2), at_s=2.0, purpose="after a probe", seq=seq)
                store.finish(run, FOUND, "done", at_s=60.0)


def time_reading(path: Path, runs: int) -> None:
    fill(path, runs)
    with History.open(path) as history:
        last = history.get("last").run
        questions: dict[str, Callable[[], object]] = {
            "runs": history.runs,
            "runs, 50": lambda: history.runs(limit=50),
            "get last": lambda: history.get("last"),
            "get prefix": lambda: history.get(last[:11]),
            "observations": lambda: history.observations(last),
            "timeline": lambda: history.timeline(last),
            "active_s": lambda: history.active_s(last),
            "known_failures": lambda: history.known_failures(RECORD.url, RECORD.model, "0.32.0"),
            "audit": lambda: audit(path),
        }
        print(f"\n{f'{runs:,} runs':<16} {'seconds':>10}   ({path.stat().st_size / 1e6:.0f} MB)")
        for name, question in questions.items():
            started = time.perf_counter()
            question()
            print(f"{name:<16} {time.perf_counter() - started:>10.3f}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        compare_appends(Path(name))
        time_reading(Path(name) / "big.db", int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
