"""Is this the engine that a run began with? PURE: what is told now beside what is on record."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fuzzer.errors import AnotherEngine
from fuzzer.lifetime.comeback import same_window
from fuzzer.model import WELL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fuzzer.observation import Observation
    from fuzzer.store import RunRecord
    from targets.base import Survey
    from targets.scrape import Scrape

COUNT_DRAFTS: Final = frozenset({"vllm", "lmdeploy"})  # with a drafter, their metrics count from the start what it does


def known_again(survey: Survey, record: RunRecord) -> Survey:
    """The survey with what the run knew, where that is not told now: the model is not loaded, or a rate keeps it back.

    Raises AnotherEngine where something else is told.
    """
    now = replace(survey, version=survey.version or record.engine_version, limit=survey.limit or record.limit)
    is_same_build = record.engine_version in {None, now.version}
    if (now.model or "") != record.model or not is_same_build or not same_window(record.limit, now.limit):
        names = ("model", "version", "max_model_len")
        was = (record.model, record.engine_version, record.limit)
        raise AnotherEngine(record.url, *zip(names, was, (now.model or "", now.version, now.limit), strict=True))
    return now


def require_same_drafter(record: RunRecord, measured: Sequence[Observation], now: Scrape | None) -> None:
    """Raises AnotherEngine where a drafter was switched on, or off, since these were seen: what it moves is the edge.

    `measured`: those before which the metrics of the engine were read. A router's count no work, and tell of none.
    """
    if record.engine not in COUNT_DRAFTS or now is None or not now.work:
        return
    passed = [one for one in measured if one.outcome in WELL and not one.uncounted]
    had, has = any(one.draft is not None for one in passed), now.draft is not None
    if passed and had is not has:
        on = {True: "on", False: "off"}
        raise AnotherEngine(record.url, ("the drafter", on[had], on[has]))
