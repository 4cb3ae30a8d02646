"""Is a world what its file says, and can a rule do no harm?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from targets.sim.drafts import accepted_drafts, chance, draw, processed
from targets.sim.parts import Draft
from targets.sim.rules import NAMES, BadRule, Condition, Value
from targets.sim.strict import BadWorld
from targets.sim.world import World, shipped

VALUES: dict[str, Value] = dict.fromkeys(NAMES, 1)


@pytest.mark.parametrize(
    ("rule", "values", "strikes"),
    [
        ("P > 262144", {"P": 262144}, False),
        ("P > 262144", {"P": 262145}, True),
        ("P + K > 262144", {"P": 262143, "K": 2}, True),
        ("P == 8192 and CH == 8192", {"P": 8192, "CH": 4096}, False),
        ("SPEC and P > 262144 and U < 0.6", {"SPEC": True, "P": 300000, "U": 0.59}, True),
        ("P <= 100 and T >= 100", {"P": 50, "T": 100}, True),
        ("not SPEC or -P < -10", {"SPEC": True, "P": 11}, True),
        ("10 < P <= 20", {"P": 20}, True),
        ("10 < P <= 20", {"P": 21}, False),
        ("P % 4096 == 0 and P // 4096 >= 2", {"P": 8192}, True),
        ("P // (N - N) > 1", {"P": 8192, "N": 3}, False),
        ("False", {}, False),
    ],
)
def test_a_rule_strikes_where_it_says(rule: str, values: dict[str, Value], strikes: bool) -> None:
    assert Condition(rule)(VALUES | values) is strikes


@pytest.mark.parametrize(
    "hostile",
    [
        "__import__('os').system('true')",
        "P.__class__",
        "P[0]",
        "[P for P in (1,)]",
        "lambda: P",
        "9 ** 9 ** 9",
        "1 << 99999999",
        "P / 2",
        "'a' * 99",
        "f'{P}'",
        "(P := 3)",
        "P if P else 1",
        "{P}",
        "P is 1",
        "P in (1, 2)",
        "~P",
        "1j",
        "None",
        "Q > 1",
        "P > 1; P",
        "",
        "P >",
        "P\x00",
        "(" * 249 + "P" + ")" * 249,
        "not " * 60 + "P",
        "P" + " + P" * 400,
        "await P",
        "*P",
    ],
)
def test_what_is_not_in_the_language_is_refused(hostile: str) -> None:
    with pytest.raises(BadRule):
        Condition(hostile)


@given(st.text(max_size=60))
def test_no_text_whatever_does_more_than_raise(text: str) -> None:
    try:
        condition = Condition(text)
    except BadRule:
        return
    assert condition(VALUES) in {True, False}
    assert condition.names <= NAMES.keys()


@given(edge=st.integers(0, 2**21), prompt=st.integers(0, 2**21), output=st.integers(1, 4096))
def test_an_edge_is_exact(edge: int, prompt: int, output: int) -> None:
    values = VALUES | {"P": prompt, "O": output, "T": prompt + output}
    assert Condition(f"P > {edge}")(values) is (prompt > edge)
    assert Condition(f"T > {edge}")(values) is (prompt + output > edge)


def test_the_names_read_are_known() -> None:
    assert Condition("P > 3 and (OR < 4 or not STREAM)").names == {"P", "OR", "STREAM"}


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ({"limits": {}}, "unknown field 'limits'"),
        ({"limit": {"token": 3}}, "unknown field 'limit.token'"),
        ({"limit": {"tokens": "many"}}, "limit.tokens must be a int"),
        ({"limit": {"tokens": True}}, "limit.tokens must be a int"),
        ({"limit": {"tokens": 0}}, "limit.tokens must be above 0"),
        ({"limit": {"over": "truncate"}}, "limit.keep must say"),
        ({"rules": [{"symptom": "death"}]}, "'rules[0].when' is missing"),
        ({"rules": [{"when": "P > 1", "symptom": "sulk"}]}, "rules[0].symptom must be one of death"),
        ({"rules": [{"when": "exit()"}]}, "rules[0].when: rule 'exit()'"),
        ({"rules": {"when": "P > 1"}}, "rules must be a list"),
        ({"draft": {"k": 2, "acceptance_length": 4.0}}, "from 1 to k + 1 = 3"),
        ({"health": {"flaky": 1.5}}, "health.flaky"),
        ({"speed": 3}, "speed must be a table"),
        ({"proxy": {"kind": "haproxy"}}, "proxy.kind must be one of nginx"),
    ],
)
def test_a_bad_world_is_named(data: dict[str, Any], complaint: str) -> None:
    with pytest.raises(BadWorld) as caught:
        World.from_dict(data)
    assert complaint in str(caught.value)


def test_a_file_is_named_in_the_complaint(tmp_path: Path) -> None:
    path = tmp_path / "odd.toml"
    path.write_text("[limit]\ntokens = -1\n")
    with pytest.raises(BadWorld, match=r"odd\.toml: limit\.tokens"):
        World.load(path)
    path.write_text("= 3")
    with pytest.raises(BadWorld, match=r"odd\.toml"):
        World.load(path)


def test_toml_and_json_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text('[limit]\ntokens = 100\n[[rules]]\nwhen = "P > 3"\n')
    (tmp_path / "one.json").write_text(json.dumps({"limit": {"tokens": 100}, "rules": [{"when": "P > 3"}]}))
    assert World.load(tmp_path / "one.toml") == World.load(tmp_path / "one.json")


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_world_loads_and_expects_something(name: str) -> None:
    world = World.load(shipped()[name])
    expect = world.expect
    assert world.name == name
    assert expect is not None
    assert expect.lo < expect.hi
    if expect.last_good is not None and expect.first_bad is not None:
        assert expect.lo <= expect.last_good == expect.first_bad - 1 < expect.hi


@given(k=st.integers(1, 15), share=st.floats(0, 1), mark=st.integers(0, 2**64 - 1))
def test_acceptance_has_the_mean_that_was_asked_for(k: int, share: float, mark: int) -> None:
    draft = Draft(k=k, acceptance_length=1 + share * k)
    each = chance(draft)
    assert abs(sum(each**position for position in range(k + 1)) - draft.acceptance_length) < 1e-6
    drafts = accepted_drafts(draft, mark)
    sample = [next(drafts) for _ in range(400)]
    assert all(0 <= accepted <= k for accepted in sample)
    assert abs(1 + sum(sample) / len(sample) - draft.acceptance_length) < 0.02 * k + 0.02


@pytest.mark.parametrize(("output", "none", "all_of_7"), [(1, 1, 1), (2, 2, 9), (8, 8, 9), (16, 16, 17), (64, 64, 65)])
def test_what_is_processed_follows_the_law(output: int, none: int, all_of_7: int) -> None:
    assert processed(Draft(k=7, acceptance_length=1.0), 5, output) == none
    assert processed(Draft(k=7, acceptance_length=8.0), 5, output) == all_of_7


def test_draws_depend_on_every_part() -> None:
    assert len({draw(1, 2), draw(2, 1), draw(1), draw(1, 2, 0)}) == 4
    uniform = [draw(7, life, ordinal) / 2**64 for life in range(40) for ordinal in range(50)]
    assert 0.56 < sum(u < 0.6 for u in uniform) / len(uniform) < 0.64
