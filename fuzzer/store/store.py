"""How is a run recorded so that nothing that was seen can be lost or changed? Each call is one durable transaction."""

from __future__ import annotations

import os
import pwd
import socket
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import fuzzer
from fuzzer.store import codec, connect, order
from fuzzer.store.clock import new_run_id
from fuzzer.store.errors import StoreError
from fuzzer.store.history import History
from fuzzer.store.links import Links
from fuzzer.store.lock import Held, target_lock
from fuzzer.store.masking import Secrets, masked_argv, masked_json, masked_text, masked_url, masked_words
from fuzzer.store.merge import Merged, take_runs
from fuzzer.store.records import RunRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlite_utils import Database

    from fuzzer.evidence import Canary
    from fuzzer.finding import Finding
    from fuzzer.model import Corroboration
    from fuzzer.observation import Observation
    from fuzzer.store.records import Ending, Intent, Json, Seal
    from targets.base import Health

LAST_WORDS_CHARS: Final = 8192

_LAST_HEAD = """
SELECT hash FROM chain
WHERE (run, position) = (SELECT run, position FROM seals ORDER BY rowid DESC LIMIT 1)
"""


class Store(Links):
    """runs.db, for recording. Rows are only ever added; each is a link of its run's hash chain.

    The methods return when the row is on the disk, and raise StoreError when it is not: then nothing of it is.
    """

    def __init__(self, path: Path, db: Database, secrets: Secrets) -> None:
        super().__init__(path, db, secrets)
        self._held: Held | None = None

    @classmethod
    def open(cls, path: Path | str, *, secrets: Sequence[str] = ()) -> Self:
        """Open for recording; the file is made or brought up to date where it must be. Raises StoreError.

        `secrets` are masked wherever they turn up, also in what a server echoes.
        """
        path = Path(path)
        return cls(path, connect.writable(path), Secrets(secrets))

    def __exit__(self, *_: object) -> None:
        """What ends a run is no matter of what was recorded before."""
        self.close()

    @contextmanager
    def lock(self, url: str) -> Iterator[None]:
        """Hold the target of `url` while a run is recorded here. Raises TargetLocked, which names who holds it."""
        with target_lock(self.path, url) as held:
            self._held = held
            try:
                yield
            finally:
                self._held = None

    @contextmanager
    def together(self) -> Iterator[None]:
        """What is recorded inside is one transaction: all of it reaches the disk at the end, or nothing of it."""
        with self._transaction():
            yield

    def begin(self, record: RunRecord) -> str:
        """A run begins. Returns its id."""
        run = new_run_id()
        with self._transaction():
            self._append(
                "runs",
                run,
                command=record.command,
                argv_json=masked_argv(record.argv),
                url=masked_url(record.url),
                model=record.model,
                engine=record.engine,
                engine_version=record.engine_version,
                advertised_limit_tokens=record.limit,
                plan=record.plan,
                question_json=masked_json(codec.encode(record.question)),
                settings_json=masked_json(codec.encode({**record.settings, **order.begun_after(self._db)})),
                **who(),
            )
        self._name_holder(run)
        return run

    def reopen(self, run: str, argv: Sequence[str], *, at_s: float) -> None:
        """A run that was interrupted, halted or killed goes on. Raises StoreError where it is done."""
        if self.get(run).status == "done":
            raise StoreError(f"Run {run} has ended: there is nothing to go on with. See it: ctxfuzz show {run}")
        self._append("resumes", run, at_s=at_s, argv_json=masked_argv(argv), **who())
        self._name_holder(run)

    def intend(self, run: str, intent: Intent) -> None:
        """A probe is about to leave."""
        self._append(
            "probes",
            run,
            at_s=intent.started_s,
            seq=intent.seq,
            sent_tokens=intent.sent_tokens,
            body_sha256=intent.body_sha256,
            body_bytes=intent.body_bytes,
            recipe_json=intent.recipe,
            spec_json=intent.spec,
        )

    def complete(self, run: str, observation: Observation, evidence: Json) -> None:
        """What the probe showed. A revival that is not over yet is told to `revived` later."""
        fields = codec.encode(observation)
        del fields["seq"], fields["spec"]  # the intent's row holds them
        self._append(
            "outcomes",
            run,
            seq=observation.seq,
            observation_json=fields,
            evidence_json=evidence,
        )

    def revived(
        self,
        run: str,
        seq: int | None,
        *,
        at_s: float,
        took_s: float,
        came_back: bool,
        cost_s: float | None = None,
        canaries: int | None = None,
        relapses: int | None = None,
    ) -> None:
        """The engine serves again, or has not come back in time, or not yet.

        `seq` is the probe that pays for it (None: nobody); `cost_s`, `canaries` and `relapses` are that observation's
        new ones.
        """
        self._append(
            "revivals",
            run,
            at_s=at_s,
            seq=seq,
            took_s=took_s,
            came_back=int(came_back),
            cost_s=cost_s,
            canaries=canaries,
            relapses=relapses,
        )

    def canary(self, run: str, canary: Canary, *, at_s: float, purpose: str, seq: int | None = None) -> None:
        """A canary was sent, after the probe `seq` or for another purpose."""
        self._append("canaries", run, at_s=at_s, seq=seq, purpose=purpose, canary_json=canary)

    def health(self, run: str, health: Health, *, at_s: float) -> None:
        """Health changed to this. Tell only the changes."""
        fault = None if health.fault is None else health.fault.value
        self._append(
            "health_events", run, at_s=at_s, status=health.status, fault=fault, detail=masked_words(health.detail)
        )

    def death(
        self,
        run: str,
        seq: int | None,
        *,
        at_s: float,
        corroboration: Corroboration,
        signature: str = "",
        last_words: str = "",
    ) -> None:
        """The engine died, of the probe `seq` or of nobody's. `last_words` are kept up to 8,192 characters."""
        self._append(
            "deaths",
            run,
            at_s=at_s,
            seq=seq,
            corroboration=corroboration.value,
            signature=masked_words(signature),
            last_words=masked_words(last_words)[-LAST_WORDS_CHARS:],
        )

    def note(self, run: str, text: str, *, at_s: float, level: str = "info", hint: str = "") -> None:
        """Something that the reader must know."""
        self._append("notes", run, at_s=at_s, level=level, text=masked_text(text), hint=masked_text(hint))

    def finish(
        self, run: str, finding: Finding | None, status: Ending, *, at_s: float, heads: Sequence[str] = ()
    ) -> Seal:
        """The run ends, and is sealed: the head covers all its rows, and every seal that was set before.

        `heads` are those of seals that came from elsewhere, which no seal here names yet.
        """
        with self._transaction():
            before = [row["hash"] for row in self._db.execute(_LAST_HEAD)] if not heads else list(heads)
            return self._append(
                "seals",
                run,
                at_s=at_s,
                status=status,
                finding_json=finding,
                previous_heads_json=before,
            )

    def merge(self, other: Path | str, argv: Sequence[str]) -> Merged:
        """Every run of another database that this one lacks, with its chain; all of them, or none.

        The merge is recorded as a run of its own, whose seal names the last head here and those that came. Raises
        StoreError where the other does not check, where it is at work, or where both hold a run of one name that is
        not the same run.
        """
        with History.open(other) as theirs, self._transaction():
            heads = [row["hash"] for row in self._db.execute(_LAST_HEAD)]
            merged = take_runs(self._db, theirs)
            if merged.added:
                asked = {"file": str(other), "runs": list(merged.added)}
                run = self.begin(RunRecord("merge", tuple(argv), "", "", "", "merge", question=asked))
                self.finish(run, None, "done", at_s=0.0, heads=(*heads, *merged.heads))
            return merged

    def _name_holder(self, run: str) -> None:
        if self._held is not None:
            self._held.name(run)


def who() -> dict[str, str]:
    """Who records, and where: `user`, `host` and `ctxfuzz_version`, as a run's row has them."""
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container's uid without a name
        user = str(os.getuid())
    return {"user": user, "host": socket.gethostname(), "ctxfuzz_version": fuzzer.__version__}
