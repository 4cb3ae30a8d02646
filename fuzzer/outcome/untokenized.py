"""What does it say of a text that the target was lost, or failed, while it counted its tokens? PURE.

Such a text was never sent to be answered, so it says nothing about its length, whatever the engine did. What became of
the engine is judged as it is after a probe.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fuzzer.evidence import Verdict
from fuzzer.model import Corroboration, Outcome
from fuzzer.outcome import judge
from fuzzer.outcome.song import serves

if TYPE_CHECKING:
    from fuzzer.evidence import Evidence
    from fuzzer.model import ProbeSpec
    from fuzzer.observation import Observation

LOST = "the target was lost while it tokenized"


@dataclass(slots=True)
class Untokenized:
    """The texts that were lost so, one of each kind, until one as long is tokenized: a second is the end of asking.

    By mode and content: the length in prompt tokens, and whether the engine died.
    """

    _texts: dict[tuple[str, str], tuple[int, bool]] = field(default_factory=dict)

    def remember(self, seen: Observation) -> None:
        """One more observation of an earlier session, in their order."""
        if seen.outcome.is_evidence:
            self.counted(seen.spec)
        elif seen.reason.startswith(LOST):
            self._texts[seen.spec.mode, seen.spec.content] = seen.spec.length, seen.deaths > seen.relapses

    def counted(self, spec: ProbeSpec) -> None:
        """The target has tokenized this text."""
        way = (spec.mode, spec.content)
        if spec.length >= self._texts.get(way, (0, False))[0]:
            self._texts.pop(way, None)

    def lost(self, evidence: Evidence) -> Verdict:
        """The verdict on one more text. A death is nobody's the first time: the probe before may be what it died of.

        Where nobody listened any more when the text was to be sent, it is not the text's in any case.
        """
        verdict = _died(judge(evidence), evidence)
        if not evidence.reply.sent:
            return verdict
        if _says_why(verdict, evidence):
            return _of_the_tokenizer(verdict)
        spec, died = evidence.spec, verdict.deaths > 0
        way = (spec.mode, spec.content)
        before, died_before = self._texts.get(way, (0, False))
        self._texts[way] = spec.length, died
        if not before:
            how = f"{LOST} {spec.length} tokens: {verdict.reason}"
            return replace(verdict, outcome=Outcome.ABANDONED, reason=how, blames="nobody" if died else None)
        which = " to ".join(str(length) for length in sorted({before, spec.length}))
        kills = f"texts of {which} tokens kill the target in tokenisation, before any engine reads them"
        fails = f"the target does not tokenize texts of {which} tokens ({verdict.reason})"
        return replace(
            verdict,
            outcome=Outcome.INFRA,
            reason=kills if died and died_before else fails,
            blames=None,
            next_step=f"pass --tokenizer, or use {'--content words' if spec.mode == 'ids' else '--mode ids'}",
        )


def _says_why(verdict: Verdict, e: Evidence) -> bool:
    """Is it no evidence for a reason of its own: busy, interrupted, a door that is shut?"""
    if verdict.outcome is Outcome.INFRA:
        return verdict.unusable or e.proxy is not None
    return not verdict.outcome.is_evidence


def _of_the_tokenizer(verdict: Verdict) -> Verdict:
    """The same, with whom it was that was asked: a way around is another tokenizer."""
    if verdict.outcome is not Outcome.INFRA or verdict.unusable:
        return verdict
    around = "or name the model's own tokenizer with --tokenizer DIR, so that no text is counted there"
    step = f"{verdict.next_step.rstrip('.')}, {around}" if verdict.next_step else around
    return replace(verdict, reason=f"asked to tokenize a text of this length, {verdict.reason}", next_step=step)


def _died(verdict: Verdict, e: Evidence) -> Verdict:
    """A line to the tokenizer may be cut by whoever is on the way: no death is presumed of an engine that serves."""
    was_gone = any(poll.gone for poll in e.health_after)
    if verdict.corroboration is not Corroboration.PRESUMED or not serves(e) or was_gone or not e.reply.sent:
        return verdict
    return Verdict(Outcome.ERROR, verdict.reason)
