"""Which suspects does a configuration name, wherever models write it?"""

from __future__ import annotations

from typing import Any

import pytest

from fuzzer.search import cause_of, suspects_within
from fuzzer.search.configured import NAMED, suspects_in


def named(config: dict[str, Any]) -> dict[int, str]:
    return {suspect.value: suspect.name for suspect in suspects_in(config, "drafter's")}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"max_position_embeddings": 262_144}, {262_144: "drafter's max_position_embeddings"}),
        ({"n_positions": 4_096}, {4_096: "drafter's n_positions"}),
        ({"text_config": {"sliding_window": 1_024}}, {1_024: "drafter's sliding_window"}),
        (
            {"max_position_embeddings": 40_960, "rope_scaling": {"factor": 4.0, "rope_type": "yarn"}},
            {40_960: "drafter's max_position_embeddings", 163_840: "drafter's rope scaling"},
        ),
        (
            {"rope_parameters": {"original_max_position_embeddings": 8_192, "factor": 8}},
            {8_192: "drafter's original_max_position_embeddings", 65_536: "drafter's rope scaling"},
        ),
        ({"sliding_window": None, "max_position_embeddings": True, "text_config": [], "rope_scaling": "none"}, {}),
    ],
)
def test_lengths_are_found_under_their_names(config: dict[str, Any], expected: dict[int, str]) -> None:
    assert named(config) == expected


def test_the_cause_names_the_drafter() -> None:
    suspects = suspects_in({"max_position_embeddings": 262_144}, "drafter's")
    cause = cause_of(262_106, suspects_within(1_000, 300_000, suspects), 32, 7)
    said = "S - O - k + 1 with S = 262144 (suspect: power of two; drafter's max_position_embeddings)"
    assert str(cause) == said


def test_a_number_of_somebody_s_outweighs_every_round_number() -> None:
    suspects = suspects_within(1_000, 300_000, suspects_in({"max_position_embeddings": 200_000}, "model's"))
    heaviest = max(suspects, key=lambda suspect: suspect.weight)
    assert (heaviest.value, heaviest.weight) == (200_000, NAMED)
