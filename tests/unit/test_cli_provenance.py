"""What of a recorded run must be said again: by whom was it begun, and what of ours would go where it says?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from fuzzer.cli import provenance
from fuzzer.cli.common import HEADER_NAMES
from fuzzer.errors import UsageFault
from fuzzer.store import Run, RunRecord
from fuzzer.store.store import who

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fuzzer.store import History

HELPED: dict[str, object] = {"on_death": "restart", "engine_log_cmd": "docker logs vllm"}
NOTHING: dict[str, Any] = {"api_key": None, "headers": (), "url": None, "on_death": None, "engine_log_cmd": None}


class Recorded:
    """A database with these runs."""

    def __init__(self, *runs: Run) -> None:
        self._runs = list(runs)

    def runs(self) -> list[Run]:
        return self._runs


def run_of(settings: Mapping[str, object], **by: str) -> Run:
    record = RunRecord("bisect", (), "http://host", "m", "vllm", "bisect", settings=settings)
    began = {**who(), **by}
    return Run("1m8abc", record, "", began["user"], began["host"], began["ctxfuzz_version"], "interrupted")


def merging(*runs: object) -> Run:
    record = RunRecord("merge", (), "", "", "", "merge", question={"file": "other.db", "runs": list(runs)})
    return Run("1m8abd", record, "", "somebody", "somewhere", "0.1.0", "done")


def unsaid(run: Run, *others: Run, **said: object) -> list[str]:
    return provenance.unsaid(run, cast("History", Recorded(*others, run)), {**NOTHING, **said})


def test_who_began_it_here_has_said_it_all() -> None:
    assert unsaid(run_of(HELPED), api_key="k") == []
    assert unsaid(run_of(HELPED), merging("1m8zzz"), api_key="k") == []


@pytest.mark.parametrize("by", [{"host": "elsewhere"}, {"user": "somebody"}])
def test_of_a_run_from_elsewhere_commands_are_said_again(by: dict[str, str]) -> None:
    run = run_of(HELPED, **by)
    assert unsaid(run) == ["on_death", "engine_log_cmd"]
    assert unsaid(run, on_death="", engine_log_cmd="logs") == []


def test_what_a_merge_brought_is_from_elsewhere() -> None:
    assert unsaid(run_of(HELPED), merging("1m8abc")) == ["on_death", "engine_log_cmd"]


@pytest.mark.parametrize("said", [{"api_key": "k"}, {"headers": (("x-tenant", "1"),)}])
def test_its_url_is_said_again_only_where_something_of_ours_goes_there(said: dict[str, object]) -> None:
    run = run_of({"content": "words"}, host="elsewhere")
    assert unsaid(run) == []
    assert unsaid(run, **said) == ["url"]
    assert unsaid(run, url="http://host", **said) == []
    assert unsaid(run_of({"content": "corpus:/home/me/.ssh/id"}, host="elsewhere")) == ["url"]


def test_what_is_to_be_said_again_is_told_as_it_was_without_its_teeth() -> None:
    run = run_of({"on_death": "touch a\x1b[2J\nrm b", "url": "http://host/v1?a=1"}, host="else\x9bwhere")
    told = str(provenance.refusal(run, ["on_death", "url"]))
    assert "add --on-death and --url to this command" in told
    assert told.endswith("On record: --on-death touch a[2J rm b; --url http://host/v1?a=1")
    assert f"by {run.user} on elsewhere" in told


def test_a_key_makes_the_header_that_it_is() -> None:
    run = run_of({HEADER_NAMES: ["authorization", "x-canary"]})
    assert provenance.unsaid_headers(run, {**NOTHING, "api_key": "k"}) == ["x-canary"]
    with pytest.raises(UsageFault, match=r"with --header authorization and x-canary, .*'x-canary: \.\.\.' to this"):
        provenance.require_headers(run, NOTHING)
    provenance.require_headers(run, {**NOTHING, "headers": (("X-Canary", "1"), ("Authorization", "Bearer k"))})
