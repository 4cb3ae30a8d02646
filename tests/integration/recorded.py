"""How do tests get a runs.db with a finished run in it, whose server is hostile?"""

from __future__ import annotations

from pathlib import Path

from fuzzer.evidence import Canary
from fuzzer.finding import Confidence, Finding, FindingKind
from fuzzer.model import Corroboration, Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.store import Intent, RunRecord, Store
from fuzzer.store.records import Ending
from targets.base import Fault, Health
from targets.scrape import DraftCounts

HOSTILE = "</style><script>alert(1)</script><img src=x onerror=alert(1)>\x1b[2J=cmd|' /C calc'!A0 & | `x` \u202egnp"
QUESTION = {"lo": 200, "hi": 400, "output_tokens": 32, "cache": "cold", "content": "words", "mode": "ids"}
FOUND = Finding(
    FindingKind.DEATH,
    f"300 passes, 301 dies: {HOSTILE}",
    last_good=300,
    first_bad=301,
    last_good_total=332,
    cap=288,
    cause=HOSTILE,
    confidence=Confidence(9, 2, 0.283),
    assumes=(HOSTILE,),
)


def record(
    path: Path,
    *,
    model: str = "tiny",
    url: str = "http://host:8000",
    words: str = HOSTILE,
    ending: Ending = "done",
) -> str:
    """A sealed run of three probes, the last of which killed the engine. Returns its id."""
    with Store.open(path) as store:
        argv = ("ctxfuzz", "bisect", "--url", url)
        record = RunRecord("bisect", argv, url, model, "vllm", "bisect", "0.32.0", 4096, QUESTION, {"seed": 7})
        run = store.begin(record)
        store.health(run, Health(0.0, 200), at_s=0.1)
        for seq, (length, outcome) in enumerate([(64, "pass"), (300, "pass"), (301, "death")], 1):
            _probe(store, run, seq, length, Outcome(outcome), words)
        store.health(run, Health(3.5, fault=Fault.REFUSED), at_s=3.5)
        store.death(
            run, 3, at_s=3.6, corroboration=Corroboration.PROVEN, signature=words, last_words=f"line one\n{words}"
        )
        store.revived(run, 3, at_s=5.0, took_s=1.4, came_back=True)
        store.health(run, Health(5.0, 200), at_s=5.0)
        store.note(run, words, at_s=5.0)
        store.finish(run, FOUND, ending, at_s=6.0)
        return run


def _probe(store: Store, run: str, seq: int, length: int, outcome: Outcome, words: str) -> None:
    spec = ProbeSpec(length, 32, Role.SEARCH, words)
    died = outcome is Outcome.DEATH
    store.intend(run, Intent(seq, spec, float(seq), length, "0" * 64, 5000, {"tokens": length}))
    seen = Observation(
        seq,
        spec,
        outcome,
        length,
        "inferred" if died else "usage",
        reason=words,
        deaths=int(died),
        blames="this" if died else None,
        signature=words if died else "",
        started_s=float(seq),
        ended_s=seq + 0.5,
        duration_s=0.4,
        draft=None if died else DraftCounts(10, 30, 4),
    )
    store.complete(run, seen, {})
    store.canary(run, Canary(ok=True, duration_s=0.1), at_s=seq + 0.6, purpose="after-probe", seq=seq)
