"""What remains when the pager stops? runs.db: every probe, written ahead, immutable, chained by hashes.

`Store` records, `History` only reads (also while a run is recording, also where nobody may write).

    with Store.open(path, secrets=[api_key]) as store, store.lock(url):
        run = store.begin(RunRecord(...))
        store.intend(run, Intent(...))  # committed before the request leaves
        store.complete(run, observation, summary(evidence, verdict))
        store.finish(run, finding, "done", at_s=...)
"""

from __future__ import annotations

from fuzzer.store.audit import Audit, AuditProblem, audit
from fuzzer.store.errors import NoSuchRun, NothingRecorded, StoreError, TargetLocked
from fuzzer.store.evidence import summary
from fuzzer.store.history import History
from fuzzer.store.merge import Merged
from fuzzer.store.records import Death, Failure, Intent, Run, RunRecord, Seal
from fuzzer.store.store import Store

__all__ = [
    "Audit",
    "AuditProblem",
    "Death",
    "Failure",
    "History",
    "Intent",
    "Merged",
    "NoSuchRun",
    "NothingRecorded",
    "Run",
    "RunRecord",
    "Seal",
    "Store",
    "StoreError",
    "TargetLocked",
    "audit",
    "summary",
]
