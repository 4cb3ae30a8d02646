"""Is an engine only sent what its version takes?"""

from __future__ import annotations

import pytest

from targets.table import DIALECTS


@pytest.mark.parametrize(
    ("version", "salted"),
    [
        ("0.4.3", False), ("0.8.5.post1", False), ("v0.6.4", False), ("0.9.0", True), ("0.32.0", True), ("1.0", True),
        ("0.10.2rc1", True), ("0.1.dev7+gabc", True), ("0.12.dev1", True), ("", True), (None, True), ("nightly", True),
    ],
)  # fmt: skip
def test_the_salt_of_a_cache_is_sent_to_who_knows_it(version: str | None, salted: bool) -> None:
    assert DIALECTS["vllm"].as_of(version).cache_salt is salted


def test_who_takes_no_salt_is_not_given_one_by_a_version() -> None:
    assert not DIALECTS["sglang"].as_of("9.9").cache_salt
