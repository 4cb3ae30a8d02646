"""What has failed before, of this very build? Reading runs.db."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fuzzer.model import FAIL_ON_DEFAULT, Outcome, Side, side_of
from fuzzer.store import codec
from fuzzer.store.clock import is_run_id
from fuzzer.store.errors import ILLEGIBLE
from fuzzer.store.listing import Listing
from fuzzer.store.lock import target_key
from fuzzer.store.masking import masked_url
from fuzzer.store.records import Failure
from fuzzer.store.rows import as_it_ended, grouped, observation_of, whole

if TYPE_CHECKING:
    import sqlite3

    _ByProbe = dict[tuple[str, int], list[sqlite3.Row]]


class Known(Listing):
    """The runs of a runs.db, and what failed in any of them."""

    def known_failures(
        self, url: str, model: str, engine_version: str | None, fail_on: frozenset[Outcome] = FAIL_ON_DEFAULT
    ) -> list[Failure]:
        """Failures of this very build at this very target, as they ended, shortest first; none where the version is
        not known.

        Conditions (output, content, cache, ...) may differ: they are in each observation's spec. What cannot be read is
        left out.
        """
        rows = self._rows(
            """
            SELECT o.run, r.url, o.at_utc, o.seq, o.observation_json, p.spec_json
            FROM runs r JOIN outcomes o USING (run) JOIN probes p USING (run, seq)
            WHERE r.model = ? AND r.engine_version = ?
              AND CASE WHEN json_valid(o.observation_json) THEN o.outcome END IN (SELECT value FROM json_each(?))
            """,
            model,
            engine_version,
            codec.dumps([outcome for outcome in Outcome if side_of(outcome, fail_on) is Side.BAD]),
        )
        target = target_key(masked_url(url))
        found = [failure for row in rows if (failure := self._failure(row, target)) is not None]
        waits = self._of_build("revivals", model, engine_version) if found else {}
        deaths = self._of_build("deaths", model, engine_version) if found else {}
        ended = [_as_it_ended(failure, waits, deaths) for failure in found]
        return sorted(ended, key=lambda failure: failure.observation.length)

    def _of_build(self, table: str, model: str, engine_version: str | None) -> _ByProbe:
        """The rows of a table that are about probes of this build, by run and probe, in order."""
        rows = self._rows(
            f"""
            SELECT t.* FROM runs r JOIN {table} t USING (run)
            WHERE r.model = ? AND r.engine_version = ? AND t.seq IS NOT NULL ORDER BY t.run, t.position
            """,  # noqa: S608  (our own)
            model,
            engine_version,
        )
        return grouped(rows, lambda row: (row["run"], row["seq"]))

    def _failure(self, row: sqlite3.Row, target: str) -> Failure | None:
        """None of another target, of a run that is named as none is, and where it cannot be read."""
        try:
            if target_key(masked_url(whole(row)["url"])) == target and is_run_id(row["run"]):
                return Failure(row["run"], row["at_utc"], observation_of(row))
        except ILLEGIBLE:
            pass
        return None


def _as_it_ended(failure: Failure, waits: _ByProbe, deaths: _ByProbe) -> Failure:
    """The same where what came later cannot be read."""
    probe = failure.run, failure.observation.seq
    try:
        rows, words = ([dict(whole(row)) for row in later.get(probe, [])] for later in (waits, deaths))
        seen = as_it_ended(failure.observation, rows, (str(row["signature"]) for row in words))
    except ILLEGIBLE:
        return failure
    return replace(failure, observation=seen)
