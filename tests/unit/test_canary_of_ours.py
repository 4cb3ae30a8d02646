"""Was it the engine that is asked who sang a canary?"""

from __future__ import annotations

import pytest

from fuzzer.evidence import Canary
from fuzzer.lifetime.canary import _of_ours
from fuzzer.model import Baseline
from targets.base import Reply, ServerError

SANG = Canary(ok=True, duration_s=0.1, status=200)
KNOWN = Baseline(model="ours", canary_model="ours-in-full", deployment="first")


@pytest.mark.parametrize(
    ("model", "deployment", "turned_away", "let_down"),
    [
        ("ours-in-full", "first", False, False),
        ("ours", "", False, False),  # gateways name it otherwise in what is no stream
        ("", "first", False, False),
        ("other", "first", True, True),
        ("ours", "second", True, False),  # it may be balanced between two that are well
    ],
)
def test_a_song_of_somebody_else_is_none(model: str, deployment: str, turned_away: bool, let_down: bool) -> None:
    reply = Reply(sent=True, status=200, model=model, headers={"x-litellm-model-id": deployment})
    canary = _of_ours(SANG, reply, KNOWN)
    assert (canary.ok, canary.turned_away, canary.let_down) == (not turned_away, turned_away, let_down)


def test_whom_the_good_answers_named_besides_is_no_stranger() -> None:
    reply = Reply(sent=True, status=200, model="ours-as-well")
    assert _of_ours(SANG, reply, Baseline(model="ours", canary_model="ours", also="ours-as-well")).ok
    assert not _of_ours(SANG, reply, Baseline(model="ours", canary_model="ours")).ok


@pytest.mark.parametrize(("cools", "let_down"), [("first", True), ("second", False)])
def test_another_deployments_cooldown_is_not_ours(cools: str, let_down: bool) -> None:
    busy = Canary(ok=False, duration_s=0.1, status=429, busy=True, let_down=True)
    said = ServerError(f"No deployments available, cooldown_list=['{cools}']")
    assert _of_ours(busy, Reply(sent=True, status=429, error=said), KNOWN).let_down is let_down


def test_where_no_canary_said_its_name_before_any_name_is_ours() -> None:
    assert _of_ours(SANG, Reply(sent=True, status=200, model="other"), Baseline(model="ours")).ok


def test_what_failed_is_nobodys_song() -> None:
    failed = Canary(ok=False, duration_s=0.1, status=500, error="boom")
    assert _of_ours(failed, Reply(sent=True, status=500, model="other"), KNOWN) is failed
