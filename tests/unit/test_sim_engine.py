"""Does the engine's model do what its rules say, on a clock that we hold?"""

from __future__ import annotations

from array import array
from typing import Any, NoReturn

import pytest

from targets.sim.cache import PrefixCache
from targets.sim.engine import Engine
from targets.sim.exposition import Gauges, exposition
from targets.sim.failing import Rule
from targets.sim.flight import Request
from targets.sim.frames import Unpacker, pack
from targets.sim.world import World

WORDS = [(300 + index, f" word{index}") for index in range(50)]


class DiedError(Exception):
    """The engine called `die`."""


class Bench:
    """An engine with its events, driven until nothing is due before `horizon` seconds."""

    def __init__(self, **world: Any) -> None:
        self.events: list[dict[str, Any]] = []
        self.now = 0.0
        self.engine = Engine(World.from_dict(world), WORDS, life=0, born=0.0, emit=self.events.append, die=self._die)
        self._count = 0

    @staticmethod
    def _die(rule: Rule) -> NoReturn:
        raise DiedError(rule.last_words)

    def admit(self, prompt: int, output: int = 4, **more: Any) -> int:
        self._count += 1
        ids = more.pop("ids", array("I", range(3, 3 + prompt)))
        request = Request(self._count, prompt, output, more.pop("asked", output), ids, **more)
        self.engine.admit(request, self.now)
        return self._count

    def run(self, horizon: float = 100.0) -> None:
        while (due := self.engine.run(self.now)) is not None and due <= horizon:
            self.now = max(due, self.now)

    def kinds(self, request: int) -> list[str]:
        return [event["event"] for event in self.events if event["id"] == request]


def test_an_answer_is_varied_words_and_the_same_for_the_same_prompt() -> None:
    bench = Bench()
    texts = []
    for _ in range(2):
        number = bench.admit(100, 16)
        bench.run()
        assert bench.kinds(number) == ["admitted", *["token"] * 16, "end"]
        texts.append([event["text"] for event in bench.events if event["id"] == number and event["event"] == "token"])
    assert texts[0] == texts[1]
    assert len(set(texts[0])) > 8


def test_the_edge_is_where_the_rule_says() -> None:
    rules = [{"when": "P > 100", "last_words": "boom"}]
    bench = Bench(rules=rules)
    bench.admit(100)
    bench.run()
    bench.admit(101)
    with pytest.raises(DiedError, match="boom"):
        bench.run()


def test_decode_rules_see_what_is_generated() -> None:
    bench = Bench(rules=[{"when": "T > 110", "at": "decode"}])
    number = bench.admit(100, 20)
    with pytest.raises(DiedError):
        bench.run()
    assert bench.kinds(number).count("token") == 10


def test_a_death_after_the_answer_leaves_the_answer_whole() -> None:
    bench = Bench(rules=[{"when": "N >= 2", "at": "answer"}])
    bench.admit(10)
    bench.run()
    number = bench.admit(10)
    with pytest.raises(DiedError):
        bench.run()
    assert bench.kinds(number)[-1] == "end"


def test_a_blocked_request_holds_everybody_until_its_client_gives_up() -> None:
    bench = Bench(rules=[{"when": "P > 50", "symptom": "block"}])
    blocker = bench.admit(60)
    bench.run()
    behind = bench.admit(10)
    bench.run()
    assert bench.kinds(behind) == []
    assert bench.engine.counters["waiting"] == 2
    bench.engine.abort(blocker)
    bench.run()
    assert bench.kinds(behind)[-1] == "end"


def test_a_hang_is_its_own() -> None:
    bench = Bench(rules=[{"when": "P > 50", "symptom": "hang"}])
    hanging = bench.admit(60)
    other = bench.admit(10)
    bench.run()
    assert bench.kinds(hanging) == ["admitted"]
    assert bench.kinds(other)[-1] == "end"


@pytest.mark.parametrize("at", ["prefill", "refusal"])
def test_a_wedge_is_for_ever(at: str) -> None:
    bench = Bench(rules=[{"when": "P > 50", "symptom": "wedge", "at": at}])
    if at == "refusal":
        bench.engine.refused(60, 4, 0.0)
    else:
        bench.admit(60)
        bench.run()
        bench.engine.abort(1)
    later = bench.admit(10)
    bench.run()
    assert bench.kinds(later) == []


def test_poison_fails_everything_after_it() -> None:
    rule = {"when": "P > 50", "symptom": "poison", "message": "first", "later": "then"}
    bench = Bench(rules=[rule])
    for prompt in (10, 60, 10):
        bench.admit(prompt)
        bench.run()
    assert [event["message"] for event in bench.events if event["event"] == "error"] == ["first", "then"]
    assert bench.kinds(1)[-1] == "end"


def test_companions_count() -> None:
    rules = [{"when": "P > 50 and C >= 3", "symptom": "error"}]
    bench = Bench(rules=rules, speed={"prefill": 1000.0})
    alone = bench.admit(60)
    bench.run()
    assert bench.kinds(alone)[-1] == "end"
    crowd = [bench.admit(60) for _ in range(3)]
    bench.run()
    assert bench.kinds(crowd[0])[-1] == "error"


def test_speculation_goes_quiet_for_the_whole_batch() -> None:
    bench = Bench(draft={"k": 3, "acceptance_length": 4.0}, rules=[{"when": "P > 50", "symptom": "speculation-off"}])
    bench.admit(10, 41)
    bench.run()
    assert bench.engine.counters["accepted"] == 30
    assert bench.engine.accepted_at == [10, 10, 10]
    bench.admit(60, 200)
    bench.admit(10, 41)
    bench.run()
    assert bench.engine.counters["accepted"] == 30
    assert bench.engine.counters["drafts"] > 200


def test_the_heartbeat_moves_in_a_long_prefill_and_the_time_is_kept() -> None:
    bench = Bench(speed={"prefill": 1000.0, "chunk": 100, "first_run_s": 5.0})
    bench.admit(1000, 1)
    bench.run(5.35)
    assert bench.engine.counters["steps"] == 3
    bench.run()
    assert bench.now == pytest.approx(6.0)
    bench.admit(500, 1, ids=array("I", range(9000, 9500)))
    bench.run()
    assert bench.now == pytest.approx(6.5)


def test_a_slow_rule_takes_its_seconds() -> None:
    bench = Bench(rules=[{"when": "P > 50", "symptom": "slow", "seconds": 3.0}])
    bench.admit(60, 1)
    bench.run()
    assert bench.now == pytest.approx(3.0, abs=0.01)


@pytest.mark.parametrize(
    ("kind", "text"), [("empty", ""), ("replacement", "\ufffd"), ("nan", " NaN"), ("repeat", " word0")]
)
def test_garble(kind: str, text: str) -> None:
    bench = Bench(rules=[{"when": "P > 50", "symptom": "garble", "garble": kind}])
    bench.admit(60)
    bench.run()
    assert {event["text"] for event in bench.events if event["event"] == "token"} == {text}


def test_truncation_shows_in_the_count_alone() -> None:
    bench = Bench(rules=[{"when": "P > 50", "symptom": "truncate", "keep": 50}])
    bench.admit(60)
    bench.run()
    assert bench.events[-1]["prompt"] == 50


def test_content_and_cache_hits_are_seen_by_rules() -> None:
    rules = [{"when": "CONTENT < 0.5", "symptom": "error", "message": "dull"}]
    bench = Bench(rules=[*rules, {"when": "HIT >= 48", "symptom": "error", "message": "warm"}])
    bench.admit(60, ids=array("I", [7, 8] * 30))
    bench.run()
    bench.admit(60)
    bench.run()
    bench.admit(60, salt="other")
    bench.run()
    bench.admit(60)
    bench.run()
    assert [bench.events[-1]["message"], bench.kinds(1)[-1], bench.kinds(3)[-1]] == ["warm", "error", "end"]


def test_the_cache_counts_whole_blocks_and_never_the_last_token() -> None:
    cache = PrefixCache(16)
    cache.add("", array("I", range(100)))
    assert cache.hit("", array("I", range(100))) == 96
    assert cache.hit("", array("I", range(96))) == 80
    assert cache.hit("", array("I", [*range(40), *range(900, 960)])) == 32
    assert cache.hit("salt", array("I", range(100))) == 0
    assert cache.hit("", array("I")) == 0
    for start in range(1000, 17000, 1000):
        cache.add("", array("I", range(start, start + 50)))
    assert cache.hit("", array("I", range(100))) == 0


def test_frames_survive_any_cut() -> None:
    data = pack({"op": "a"}, b"xyz") + pack({"op": "b"})
    for cut in range(len(data)):
        unpacker = Unpacker()
        frames = [*unpacker.feed(data[:cut]), *unpacker.feed(data[cut:])]
        assert frames == [({"op": "a"}, b"xyz"), ({"op": "b"}, b"")]


@pytest.mark.parametrize("dialect", ["vllm", "sglang", "llamacpp"])
def test_metrics_parse_as_prometheus_text(dialect: str) -> None:
    from prometheus_client.parser import text_string_to_metric_families  # noqa: PLC0415

    bench = Bench(draft={"k": 2, "acceptance_length": 2.0})
    bench.admit(100, 20)
    bench.run()
    world = World.from_dict({"dialect": dialect, "draft": {"k": 2}})
    engine = bench.engine
    page = exposition(world, 1234.5, [Gauges(0, 1234.5, engine.counters, engine.accepted_at)])
    samples = {
        sample.name: sample.value for family in text_string_to_metric_families(page) for sample in family.samples
    }
    prompt = {"vllm": "vllm:", "sglang": "sglang:", "llamacpp": "llamacpp:"}[dialect] + "prompt_tokens_total"
    assert samples[prompt] == 100
    assert ("process_start_time_seconds" in samples) is (dialect != "llamacpp")
