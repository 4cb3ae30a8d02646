"""Is this the engine that a run began with? PURE: what is told now beside what is on record."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fuzzer.comeback import same_window
from fuzzer.errors import AnotherEngine

if TYPE_CHECKING:
    from fuzzer.store import RunRecord
    from targets.base import Survey


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
