"""Is a lossy drafter called by name, a restless engine not blamed on it, and nothing called that is not planted?"""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzer.measure.sameness import Cell, Sameness, Verdict, compare, difference
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.observation import Generated, Observation

TRIALS = 500
NEEDLES = ("garden bridge", "silver window")
LENGTHS = (64, 200, 600, 1900, 6000, 19000, 60000, 190000)
PROMPT = "ab" * 32

ids = st.lists(st.integers(0, 3), min_size=1, max_size=20).map(tuple)


def answer(token_ids: tuple[int, ...] = (), text: str = "", prompt: str = PROMPT) -> Generated:
    return Generated(prompt, text, len(text), token_ids)


def seen(length: int, time: int, made: Generated | None, content: str = "words", **other: object) -> Observation:
    spec = ProbeSpec(length, 32, Role.MEASURE, "", content=content, compared=time)
    told: dict[str, object] = {"outcome": Outcome.PASS, "generated": made, **other}
    return Observation(time, spec, length=length, length_source="usage", **told)  # type: ignore[arg-type]


def twice(length: int, one: Generated, again: Generated | None = None, content: str = "words") -> list[Observation]:
    return [seen(length, 1, one, content), seen(length, 2, again or one, content)]


@given(ids, ids)
def test_two_answers_part_where_they_first_differ_or_where_one_ends(
    one: tuple[int, ...], other: tuple[int, ...]
) -> None:
    parted = difference(answer(one), answer(other))
    if parted is None:
        assert one == other
        return
    at = parted.token
    assert at is not None
    assert one[:at] == other[:at]
    assert one[at : at + 1] != other[at : at + 1]


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=400))
def test_the_words_around_a_divergence_are_the_answers_own_and_bounded(one: str, other: str, before: str) -> None:
    parted = difference(answer(text=before + one), answer(text=before + other))
    if parted is None:
        assert one == other
        return
    assert parted.char is not None
    assert (before + one)[: parted.char].endswith(parted.before)
    assert (before + one)[parted.char :].startswith(parted.one)
    assert (before + other)[parted.char :].startswith(parted.other)
    assert len(parted.before) + len(parted.one) + len(parted.other) <= 200


def test_ids_decide_where_both_have_them_and_the_text_where_one_has_none() -> None:
    assert difference(answer((1, 2), "a b"), answer((1, 2), "a  b")) is None
    by_text = difference(answer((1, 2), "a b"), answer((), "a c"))
    assert by_text is not None
    assert (by_text.token, by_text.char) == (None, 2)


def test_an_answer_that_goes_on_past_what_is_kept_is_another_one() -> None:
    parted = difference(Generated(PROMPT, "abc", 3), Generated(PROMPT, "abc", 2000))
    assert parted is not None
    assert (parted.char, parted.one, parted.other) == (3, "", "")


def the_cell(target: list[Observation], control: list[Observation]) -> Cell:
    (cell,) = compare(target, control, NEEDLES).cells
    return cell


def test_a_restless_target_is_not_blamed_on_its_drafter() -> None:
    cell = the_cell(twice(64, answer((1, 2, 3)), answer((1, 2, 4))), twice(64, answer((1, 2, 5))))
    assert cell.verdict is Verdict.UNDECIDABLE
    assert cell.words == "not decidable: the target does not repeat itself after 2 tokens"


def test_a_restless_control_is_not_blamed_on_the_drafter_either() -> None:
    cell = the_cell(twice(64, answer((1,))), twice(64, answer((1,)), answer((2,))))
    assert "the control does not repeat itself" in cell.words


def test_garbage_is_compared_like_any_other_answer() -> None:
    garbled = [seen(64, time, answer((7, 7, 7)), outcome=Outcome.GARBLED) for time in (1, 2)]
    assert the_cell(garbled, garbled).verdict is Verdict.SAME
    assert the_cell(garbled, twice(64, answer((1, 2, 3)))).verdict is Verdict.DIFFERENT


def test_nothing_comes_of_nothing() -> None:
    told = compare([], [], NEEDLES)
    assert (told.verdict, told.words) == (Verdict.UNDECIDABLE, "nothing was answered")


def test_two_silences_are_not_the_same() -> None:
    cell = the_cell(twice(64, answer()), twice(64, answer()))
    assert cell.words == "not decidable: an answer tells neither ids nor a text"


def test_two_prompts_are_not_compared() -> None:
    cell = the_cell(twice(64, answer((1,))), twice(64, answer((2,), prompt="cd" * 32)))
    assert cell.verdict is Verdict.UNDECIDABLE
    assert "--tokenizer" in cell.words


@pytest.mark.parametrize(
    ("target", "control", "words"),
    [
        ([seen(64, 1, answer((1,))), seen(64, 2, None, outcome=Outcome.DEATH)], [], "the target: death"),
        (twice(64, answer((1,))), [seen(64, 1, None, outcome=Outcome.REJECTED)], "the control: rejected"),
        (twice(64, answer((1,))), [], "the control was not asked"),
    ],
)
def test_what_was_not_answered_is_not_decidable(
    target: list[Observation], control: list[Observation], words: str
) -> None:
    cell = the_cell(target, control)
    assert cell.verdict is Verdict.UNDECIDABLE
    assert words in cell.words


@pytest.mark.parametrize(
    ("ours", "theirs", "head", "tail"),
    [
        ("It is Garden, bridge. And silver window", "garden bridge", "both", "target"),
        ("nothing of it", "silver  window!", "neither", "control"),
        ("gardens bridge, silver windows", "garden of a bridge", "neither", "neither"),
    ],
)
def test_needles_are_the_words_in_a_row(ours: str, theirs: str, head: str, tail: str) -> None:
    target, control = (twice(64, answer(text=text), content="needle") for text in (ours, theirs))
    needles = the_cell(target, control).needles
    assert needles is not None
    assert (needles.head, needles.tail) == (head, tail)


@dataclass(frozen=True)
class Engine:
    """A model of an engine. `moody`: the share of answers that are each another text; `second`: that are the one other
    text that it also has; `lossy_from`: its drafter changes all answers from so many prompt tokens on.
    """

    moody: float = 0.0
    second: float = 0.0
    lossy_from: int | None = None

    def answers(self, draw: random.Random) -> list[Observation]:
        return [seen(length, time, self._one(length, draw)) for length in LENGTHS for time in (1, 2)]

    def _one(self, length: int, draw: random.Random) -> Generated:
        if draw.random() < self.moody:
            return answer((1, 2, draw.getrandbits(40)))
        if draw.random() < self.second:
            return answer((1, 2, 4))
        lossy = self.lossy_from is not None and length >= self.lossy_from
        return answer((1, 2, 9 if lossy else 3))


PLAIN = Engine()


def verdicts(target: Engine, control: Engine) -> dict[Verdict, int]:
    told = [compare(target.answers(d), control.answers(d), NEEDLES).verdict for d in map(random.Random, range(TRIALS))]
    return {verdict: told.count(verdict) for verdict in Verdict}


def test_nothing_is_called_where_nothing_is_planted() -> None:
    assert verdicts(PLAIN, PLAIN) == {Verdict.SAME: TRIALS, Verdict.DIFFERENT: 0, Verdict.UNDECIDABLE: 0}


@pytest.mark.parametrize("lossy_from", [LENGTHS[0], LENGTHS[4], LENGTHS[-1]])
def test_a_lossy_drafter_is_called_by_name(lossy_from: int) -> None:
    assert verdicts(Engine(lossy_from=lossy_from), PLAIN)[Verdict.DIFFERENT] == TRIALS


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_an_engine_that_says_something_new_each_time_is_never_taken_for_a_lossy_drafter(share: float) -> None:
    restless = Engine(moody=share)
    for target, control in ((restless, PLAIN), (PLAIN, restless), (restless, restless)):
        assert verdicts(target, control)[Verdict.DIFFERENT] == 0


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_an_engine_of_two_minds_is_hardly_ever_taken_for_a_lossy_drafter(share: float) -> None:
    restless = Engine(second=share)
    assert verdicts(restless, restless)[Verdict.DIFFERENT] <= 0.02 * TRIALS


def test_a_lossy_drafter_shows_through_a_little_restlessness() -> None:
    found = verdicts(Engine(moody=0.05, lossy_from=LENGTHS[0]), Engine(moody=0.05))
    assert found[Verdict.DIFFERENT] >= 0.8 * TRIALS
    assert found[Verdict.SAME] == 0


def test_differences_under_noise_carry_their_odds() -> None:
    restless = [*twice(64, answer((1,)), answer((2,))), *twice(200, answer((1,)))]
    told: Sameness = compare(restless, [*twice(64, answer((1,))), *twice(200, answer((3,)))], NEEDLES)
    assert told.verdict is Verdict.UNDECIDABLE
    assert (told.noisy, told.repeated) == (1, 4)
    assert told.p == pytest.approx(0.4)  # two of five differ; that the one of the two arms is among them
    assert "may be noise" in told.words
