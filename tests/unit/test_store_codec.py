"""Does every dataclass come back from JSON exactly as it went in?"""

from __future__ import annotations

import json
import math
import types
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzzer.evidence import Canary, Evidence
from fuzzer.finding import Conditions, Finding
from fuzzer.model import FAIL_ON_DEFAULT, Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.store import codec
from targets.base import Fault, Reply, ServerError
from targets.scrape import DraftCounts

# A busy machine makes any single example slow now and then; that is no failure.
calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

TEXTS = st.text(max_size=12)
SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    int: st.integers(),
    float: st.floats(allow_nan=False),
    str: TEXTS,
    bool: st.booleans(),
    type(None): st.none(),
}


def values_of(kind: Any) -> st.SearchStrategy[Any]:  # noqa: PLR0911  (a case a kind of annotation)
    """Any value that a field annotated with `kind` can have."""
    origin, args = get_origin(kind), get_args(kind)
    if origin in {Union, types.UnionType}:
        return st.one_of(*map(values_of, args))
    if origin is Literal:
        return st.sampled_from(args)
    if origin is tuple and args[-1] is Ellipsis:
        return st.lists(values_of(args[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values_of, args))
    if origin is frozenset:
        return st.frozensets(values_of(args[0]), max_size=3)
    if origin is not None and issubclass(origin, Mapping):
        return st.dictionaries(values_of(args[0]), values_of(args[1]), max_size=3)
    if is_dataclass(kind) and isinstance(kind, type):
        return st.builds(kind, **{name: values_of(hint) for name, hint in codec.fields_of(kind).items()})
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(kind)
    return SCALARS[kind]


@pytest.mark.parametrize("kind", [ProbeSpec, Observation, Finding, Conditions, Canary, Reply, Evidence])
def test_every_field_comes_back_exactly(kind: type) -> None:
    @settings(calm, max_examples=50)
    @given(values_of(kind))
    def check(value: object) -> None:
        text = codec.dumps(value)
        again: Any = codec.loads(kind, text)
        assert again == value
        assert codec.dumps(again) == text  # 1.0 is no 1, -0.0 is no 0.0: equal is not enough
        assert [type(getattr(again, field.name)) for field in fields(kind)] == [
            type(getattr(value, field.name)) for field in fields(kind)
        ]

    check()


@calm
@given(st.floats())
def test_a_float_comes_back_bit_by_bit(value: float) -> None:
    again = codec.loads(float, codec.dumps(value))
    assert math.isnan(again) if math.isnan(value) else again.hex() == value.hex()


@calm
@given(st.text(st.characters(categories=["Cs", "L"])))
def test_text_that_no_file_can_hold_is_cleaned(text: str) -> None:
    again = codec.loads(str, codec.dumps(text))
    assert again == codec.clean(text)
    again.encode("utf-8")
    assert len(again) <= len(text)


def test_json_is_what_an_auditor_expects() -> None:
    spec = ProbeSpec(length=8192, output_tokens=32, role=Role.CONFIRM_BAD, reason="again, on a fresh engine")
    assert (
        json.loads(codec.dumps(spec)).items()
        >= {
            "length": 8192,
            "output_tokens": 32,
            "role": "confirm-bad",
            "reason": "again, on a fresh engine",
            "content": "words",
            "mode": "ids",
            "stream": True,
            "cache": "cold",
            "stop_after": None,
            "wait_s": 0.0,
        }.items()
    )


def test_sets_of_outcomes_come_back_in_any_order() -> None:
    text = codec.dumps(FAIL_ON_DEFAULT)
    assert text == codec.dumps(frozenset(sorted(FAIL_ON_DEFAULT, reverse=True)))
    assert codec.loads(frozenset[Outcome], text) == FAIL_ON_DEFAULT


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (int, True),
        (int, 1.0),
        (int, "1"),
        (bool, 1),
        (str, 5),
        (float, True),
        (float, "1.5"),
        (float, None),
        (Role, "nonsense"),
        (int | None, "x"),
        (tuple[int, int], [1]),
        (tuple[int, ...], 5),
        (frozenset[Outcome], ["pass", "nonsense"]),
        (Mapping[str, int], [1]),
        (Literal["cold", "warm"], "hot"),
        (DraftCounts, {"drafts": 1.0}),
        (DraftCounts, {"drafts": 1.0, "draft_tokens": 1.0, "accepted_tokens": 1.0, "of_the_future": 1}),
        (DraftCounts, [1.0, 2.0, 3.0]),
    ],
)
def test_json_that_does_not_fit_is_refused(kind: Any, data: object) -> None:
    with pytest.raises(codec.CodecError):
        codec.decode(kind, data)


def test_a_field_that_an_older_version_did_not_know_takes_its_default() -> None:
    assert codec.decode(Canary, {"ok": True, "duration_s": 0.5}) == Canary(ok=True, duration_s=0.5)


def test_a_union_keeps_the_type_that_it_had() -> None:
    for code in (500, "500", None):
        again = codec.loads(ServerError, codec.dumps(ServerError(message="m", code=code)))
        assert again.code == code
        assert type(again.code) is type(code)
    assert codec.loads(Reply, codec.dumps(Reply(sent=True, fault=Fault.CUT))).fault is Fault.CUT


def test_what_json_cannot_hold_is_refused() -> None:
    @dataclass(frozen=True)
    class Odd:
        body: bytes

    for value in (b"bytes", object(), Odd, Odd(b"")):
        with pytest.raises(codec.CodecError):
            codec.dumps(value)
