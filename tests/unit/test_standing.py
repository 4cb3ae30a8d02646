"""Does the fold over observations say where a run stands?"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzer.model import Baseline, Corroboration, Outcome, ProbeSpec, Role
from fuzzer.observation import Observation
from fuzzer.standing import Standing, unseen_output

TEXT = Baseline()


def seen(
    length: int, outcome: Outcome = Outcome.PASS, *, seq: int = 1, role: Role = Role.SEARCH, **more: object
) -> Observation:
    plain = Observation(
        seq=seq, spec=ProbeSpec(length, 32, role, "because"), outcome=outcome, length=length, length_source="usage",
        sent_tokens=length, yardstick=TEXT if outcome is Outcome.PASS else None,
    )  # fmt: skip
    return replace(plain, **more)  # type: ignore[arg-type]


def test_the_offset_is_learnt_from_a_usage_and_from_nothing_else() -> None:
    standing = Standing()
    assert standing.offset("ids") is None
    assert standing.after(seen(64, sent_tokens=64, length_source="inferred")).offset("ids") is None
    assert standing.after(seen(64, Outcome.TRUNCATED, sent_tokens=70)).offset("ids") is None
    assert standing.after(seen(65, sent_tokens=64)).offset("ids") == 1


def test_the_offset_is_learnt_again_at_lo_and_nowhere_else_and_is_the_least() -> None:
    """One count that drifts by a token would make the next exact one look cut, and so would what lo alone gets."""
    short = Standing().after(seen(65, sent_tokens=64, role=Role.BASELINE))
    assert short.after(seen(8005, sent_tokens=8000, role=Role.LO)).offset("ids") == 1
    assert short.after(seen(8000, sent_tokens=8000, role=Role.LO)).offset("ids") == 0
    assert short.after(seen(8002, sent_tokens=8000)).offset("ids") == 1


def test_the_shortest_prompt_that_was_counted_is_kept() -> None:
    standing = Standing()
    assert standing.shortest("ids") is None
    for length in (200, 64, 8_000):
        standing = standing.after(seen(length + 36, sent_tokens=length, role=Role.BASELINE))
    assert (standing.shortest("ids"), standing.shortest("chat")) == ((64, 100), None)


def test_a_death_begins_a_new_life_whose_first_probe_is_fresh() -> None:
    standing = Standing().after(seen(64)).after(seen(100)).after(seen(200, Outcome.DEATH, deaths=1, blames="this"))
    assert (standing.incarnation, standing.ordinal, standing.fresh) == (1, 0, True)
    assert not standing.after(seen(100)).fresh


def test_the_first_life_is_never_fresh_for_we_did_not_see_it_begin() -> None:
    assert not Standing().fresh


def test_a_probe_that_never_left_is_no_request_of_that_life() -> None:
    standing = Standing().after(seen(200, Outcome.DEATH, deaths=1, blames="this"))
    assert standing.after(seen(100, Outcome.ABANDONED)).fresh


def test_a_death_before_a_probe_makes_that_probe_the_first_of_the_new_life() -> None:
    standing = Standing().after(seen(64)).after(seen(100, deaths=1, blames="nobody"))
    assert (standing.incarnation, standing.ordinal) == (1, 1)


def test_the_baseline_is_set_by_the_short_probe_and_only_becomes_more_lenient() -> None:
    standing = Standing().after(seen(64, role=Role.BASELINE))
    assert standing.baseline("ids") == TEXT
    looping = Baseline(has_text=False, repeats=True, full_output=False)
    assert standing.after(seen(9000, role=Role.LO, yardstick=looping)).baseline("ids") == Baseline(repeats=True)


def test_loops_are_the_nature_of_a_model_only_where_the_length_is_believed_in() -> None:
    """Where text breaks past a position, the answers around it are half broken, and pass."""
    standing = Standing().after(seen(64, role=Role.BASELINE)).after(seen(8_000))
    for length in (8_990, 8_985, 9_000):
        standing = standing.after(seen(length, yardstick=Baseline(repeats=True, has_replacement=True)))
    assert standing.after(seen(12_000)).baseline("ids") == TEXT


def test_a_long_probe_is_no_baseline() -> None:
    assert Standing().after(seen(9000)).baseline("ids") is None


def test_the_deadline_follows_the_longest_shorter_pass() -> None:
    standing = Standing().after(seen(100_000, duration_s=4.0)).after(seen(200_000, duration_s=12.0))
    assert standing.deadline_s(200_000, 600) == 120.0
    assert standing.deadline_s(100_000, 600) == 60.0  # never under a minute
    assert standing.deadline_s(200_000, 30) == 30  # never over --timeout
    assert standing.deadline_s(50_000, 600) == 600  # nothing shorter to learn from


def whole(output: int, duration_s: float, *, stream: bool = False) -> Observation:
    known = seen(1_000, duration_s=duration_s)
    return replace(known, spec=replace(known.spec, output_tokens=output, stream=stream), completion_tokens=output)


def test_where_nothing_streams_the_deadline_follows_the_output_too() -> None:
    standing = Standing().after(whole(100, 1.0, stream=True))
    assert standing.deadline_s(1_000, 600) == 60.0
    assert standing.deadline_s(1_000, 600, unseen_output(whole(50, 0.0).spec)) == 600  # no whole answer yet
    standing = standing.after(whole(50, 5.0)).after(whole(200, 8.0))
    assert standing.deadline_s(1_000, 600, 400) == 400.0
    assert standing.deadline_s(1_000, 600, unseen_output(whole(400, 0.0, stream=True).spec)) == 80.0


def test_a_pass_in_company_tells_how_long_so_many_tokens_take() -> None:
    alone = seen(100_000, duration_s=12.0)
    accompanied = replace(alone, spec=replace(alone.spec, companions=(50_000, 50_000)))
    assert Standing().after(accompanied).passes == ((200_000, 12.0),)


@given(st.lists(st.tuples(st.integers(1, 10**6), st.floats(0, 1e4)), max_size=50), st.integers(1, 10**6))
def test_the_deadline_stays_within_its_bounds(passes: list[tuple[int, float]], length: int) -> None:
    standing = Standing()
    for at, took in passes:
        standing = standing.after(seen(at, duration_s=took))
    assert 60 <= standing.deadline_s(length, 600) <= 600


def test_what_is_late_for_a_canary_is_told_by_the_slowest_of_several() -> None:
    standing = Standing().after(seen(10, canary_s=0.3))
    assert standing.slowest_canary_s is None
    for canary_s in (0.1, None, 0.2):
        standing = standing.after(seen(10, canary_s=canary_s))
    assert standing.slowest_canary_s == 0.3


def test_what_takes_long_is_predicted_from_what_is_shorter() -> None:
    standing = Standing().after(seen(100, duration_s=2.0))
    assert (standing.predicted_s(99), standing.predicted_s(100), standing.predicted_s(200)) == (None, 2.0, 8.0)


def test_of_cuts_those_are_kept_that_tell_whether_all_are_alike() -> None:
    standing = Standing()
    for cut_s in (60.0, 60.0, 60.0, 90.0, 60.0, 60.0, 60.0):
        standing = standing.after(seen(10, Outcome.ERROR, cut_s=cut_s))
    assert standing.cuts_s == (60.0, 60.0, 60.0, 90.0)


def test_how_far_the_lengths_of_cuts_lie_apart_is_kept() -> None:
    standing = Standing().after(seen(5, cut_s=None))
    for length in (30, 10, 20):
        standing = standing.after(seen(length, Outcome.ERROR, cut_s=60.0))
    assert standing.cut_lengths == (10, 30)


@pytest.mark.parametrize(("known", "for_sure"), [(Corroboration.PROVEN, True), (Corroboration.PRESUMED, False)])
def test_a_death_that_was_proven_is_remembered(known: Corroboration, for_sure: bool) -> None:
    died = Standing().after(seen(40, Outcome.DEATH, corroboration=known)).after(seen(30))
    assert died.died_for_sure is for_sure


def test_what_was_lost_is_kept_apart_from_what_was_cut() -> None:
    standing = Standing().after(seen(40, Outcome.DEATH, lost_s=30.0)).after(seen(30, Outcome.DEATH, lost_s=30.01))
    assert (standing.losses_s, standing.lost_lengths) == ((30.0, 30.01), (30, 40))
    assert (standing.cuts_s, standing.cut_lengths) == ((), ())


def test_each_mode_has_its_own_offset_and_yardstick() -> None:
    """A template adds tokens to a chat alone, and a chat may be answered without text where a completion has some."""
    chat = seen(76, sent_tokens=64, role=Role.BASELINE, yardstick=Baseline(has_text=False))
    standing = Standing().after(seen(64, role=Role.BASELINE)).after(replace(chat, spec=replace(chat.spec, mode="chat")))
    assert (standing.offset("ids"), standing.offset("chat"), standing.offset("text")) == (0, 12, None)
    assert (standing.baseline("ids"), standing.baseline("chat")) == (TEXT, Baseline(has_text=False))


def test_each_bug_that_the_engines_log_names_is_counted_once() -> None:
    died = seen(300, Outcome.DEATH, deaths=1, signature="IndexError at 0x10", signature_source="log")
    standing = Standing().after(died)
    assert not Standing().is_another_bug(died)
    assert not standing.is_another_bug(replace(died, signature="IndexError at 0x77"))
    assert not standing.is_another_bug(replace(died, signature="connection reset", signature_source="client"))
    assert standing.is_another_bug(replace(died, signature="CUDA error"))
    assert standing.after(replace(died, signature="CUDA error")).bugs == ("IndexError at 0x10", "CUDA error")


def test_a_content_that_makes_a_model_repeat_itself_has_a_yardstick_of_its_own() -> None:
    words = seen(64, role=Role.BASELINE, yardstick=TEXT)
    looping = Baseline(repeats=True)
    standing = Standing().after(words)
    short = replace(words.spec, content="repeat")
    assert standing.yardstick(short) is None
    standing = standing.after(replace(words, spec=short, yardstick=looping))
    assert standing.yardstick(replace(short, role=Role.SEARCH)) == looping
    assert standing.yardstick(replace(words.spec, role=Role.SEARCH)) == TEXT
    assert standing.yardstick(replace(words.spec, role=Role.SEARCH, content="code")) == TEXT


def test_a_canary_says_something_until_a_good_answer_comes_with_a_garbled_one() -> None:
    sings = Baseline(canary_has_text=True)
    standing = Standing().after(seen(64, role=Role.BASELINE, yardstick=sings)).after(seen(9000, yardstick=sings))
    assert standing.baseline("ids") == sings
    assert standing.after(seen(9000, yardstick=Baseline())).after(seen(9000, yardstick=sings)).baseline("ids") == TEXT


def test_a_canary_is_made_of_what_its_yardstick_was_made_of() -> None:
    short = seen(64, role=Role.BASELINE)
    standing = Standing().after(short)
    other = replace(short.spec, content="code", role=Role.FUZZ)
    assert Standing().canary_content(other) == "code"
    assert standing.canary_content(other) == "words"
    assert standing.canary_content(replace(other, mode="chat")) == "code"
    first = replace(short, spec=replace(other, role=Role.BASELINE))
    assert standing.canary_content(first.spec) == "code"
    assert standing.after(first).canary_content(other) == "code"


def test_metrics_that_missed_one_good_answer_are_trusted_no_more_and_others_are_not_forgotten() -> None:
    standing = Standing().after(seen(64, role=Role.BASELINE))
    assert (standing.counted, standing.others_seen) == (True, False)
    standing = standing.after(replace(seen(900), uncounted=True)).after(replace(seen(901), contended=True))
    standing = standing.after(seen(902))
    assert (standing.counted, standing.others_seen) == (False, True)


def test_streams_that_never_told_a_count_are_known_by_the_first_good_one() -> None:
    silent = seen(64, role=Role.BASELINE, length_source="inferred")
    assert not Standing().after(silent).streams_tell
    assert not Standing().after(silent).after(seen(65, role=Role.BASELINE)).streams_tell
    assert Standing().after(seen(65, role=Role.BASELINE)).after(silent).streams_tell
    whole = replace(silent, spec=replace(silent.spec, stream=False))
    assert Standing().after(whole).streams_tell


def test_the_least_limit_that_a_refusal_told_is_kept() -> None:
    told = [None, 8_192, 5_994, None, 8_192]
    standing = reduce(Standing.after, [seen(9_000, Outcome.REJECTED, refusal_limit=each) for each in told], Standing())
    assert standing.refused_limit == 5_994


def test_the_longest_whole_answer_and_the_least_clamp_are_kept() -> None:
    standing = Standing()
    for one in (
        seen(1_000, completion_tokens=32),
        seen(3_000, completion_tokens=1, clamped=True),
        seen(2_000, completion_tokens=2, clamped=True),
        seen(9_000, outcome=Outcome.TRUNCATED, completion_tokens=1),
    ):
        standing = standing.after(one)
    assert (standing.longest_total, standing.clamped_total) == (1_032, 2_002)


def test_a_word_of_overload_is_true_once_as_much_has_passed() -> None:
    """What is shorter and passes says nothing of it: nor does what is longer, and fails."""
    believed = Standing().after(seen(9000, Outcome.BUSY, its_word=True))
    assert believed.after(seen(8999)).after(seen(9500, Outcome.DEATH, deaths=1)).believed == 9000
    assert believed.after(seen(9000)).believed is None
    assert Standing().after(seen(9000, Outcome.BUSY)).believed is None


def test_where_the_same_died_twice_no_word_of_overload_is_taken_any_more() -> None:
    believed = Standing().after(seen(9000, Outcome.BUSY, its_word=True))
    asked = [ProbeSpec(length, 8, Role.SEARCH, "") for length in (9000, 9500, 16)]
    assert [believed.uncharged(spec) for spec in asked] == [True, False, False]
    lied = believed.after(seen(9000, Outcome.DEATH, deaths=2, blames="this")).after(seen(9500))
    assert [(lied.took_its_word(spec), lied.uncharged(spec)) for spec in asked] == [(True, False)] * 3
    once = believed.after(seen(9000, Outcome.DEATH, deaths=1, blames="this"))
    assert not once.took_its_word(asked[-1])


def test_a_word_of_overload_is_taken_once_more_of_less_and_of_no_more() -> None:
    standing = Standing()
    told = []
    for length in (9000, 9000, 9500, 5000, 5000, 7000, 4999):
        told.append(standing.took_its_word(ProbeSpec(length, 8, Role.SEARCH, "")))
        standing = standing.after(seen(length, Outcome.BUSY, its_word=not told[-1]))
    assert told == [False, True, True, False, True, True, False]
    assert not standing.after(seen(4999)).took_its_word(ProbeSpec(9000, 8, Role.SEARCH, "")), "as much has passed"
    beside = ProbeSpec(4000, 8, Role.SEARCH, "", companions=(4000,))
    assert standing.took_its_word(beside), "companions are in flight too"


def test_an_engine_that_was_busy_and_whose_canary_sang_served() -> None:
    """So what is refused right after it is somebody's death."""
    served = [Outcome.PASS, Outcome.BUSY, Outcome.INFRA, Outcome.ABANDONED]
    assert [Standing().after(seen(9000, outcome)).served for outcome in served] == [True, True, False, False]
    assert not Standing().after(seen(9000, Outcome.BUSY, deaths=1)).served
