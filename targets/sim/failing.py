"""In which ways can a simulated engine fail, and where in a request's course? Data, as a world file says it.

Lengths are tokens, `seconds` are seconds. When a rule strikes, `targets.sim.rules` says in its own small language.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Symptom = Literal[
    "death",  # the engine process aborts
    "error",  # `status` and `message`; the engine lives on
    "busy",  # 429 or 503 with Retry-After
    "hang",  # this request never ends; others are served
    "block",  # this request never ends and holds everybody behind it, until its client gives up
    "wedge",  # nothing is ever served again; the process lives and health is green
    "reset",  # the connection is reset; the engine lives on
    "cut",  # the connection is closed in the middle of the answer; the engine lives on
    "poison",  # an error, and then the same for every later request of this life
    "truncate",  # the prompt is shortened to `keep` tokens without a word
    "garble",  # the answer's text is rubbish (`garble`)
    "speculation-off",  # drafts are made, none is accepted, for everybody in the batch
    "slow",  # the prefill takes `seconds` longer
]
MODIFIERS: frozenset[str] = frozenset({"truncate", "garble", "speculation-off", "slow"})
At = Literal["arrival", "prefill", "decode", "answer", "refusal"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One way to fail. `at`: on arrival, at the end of the prefill, while decoding, after the answer, after a refusal.

    At `decode` the rule is asked before each token, with O = tokens generated so far plus one.
    """

    when: str
    symptom: Symptom = "death"
    at: At = "prefill"
    status: int = 500
    message: str = ""
    type: str = "InternalServerError"
    last_words: str = "CUDA error: an illegal memory access was encountered"
    later: str = ""  # poison: the message of every later request
    keep: int = 0  # truncate
    garble: Literal["empty", "replacement", "nan", "repeat"] = "repeat"
    seconds: float = 1.0  # slow: how much longer; busy: Retry-After

    @property
    def point(self) -> At:
        """When it strikes: who is busy says so on arrival."""
        return "arrival" if self.symptom == "busy" else self.at
