"""Do a server's own words claim that the engine died, or that its machine failed? PURE.

No refusal says so, whatever else it names: not every failure has a status of its own. A guess is no claim of a death.
"""

from __future__ import annotations

import re

_WHO = (
    r"(?:engine(?:\s{0,3}core)?|runner|worker|actor|replica|model|server|backend|child|subprocess|process|stub|scheduler"
    r"|executor|container|pod|manager|command|background|llm)"
)
_HAS = r"(?:\s{1,3}(?:is|was|has|had|have|been)){0,2}"
_GONE = (
    r"(?:dead|died|crashed|exited|terminated|killed|(?:no longer|not) running|unloaded|shutting down|errored already"
    r"|unexpectedly\s{1,3}(?:stop|exit|terminat))(?!-|\s{1,3}(?:the|your|this|its)\b)"
)
# Engines, and what runs them, that announce a death.
_LAST_WORDS = re.compile(
    rf"EngineCore encountered|EngineDead|\b\w{{0,20}}{_WHO}(?:\s{{1,3}}(?:process|loop))?{_HAS}\s{{1,3}}{_GONE}"
    r"|(?:stub|worker) process.{0,80}not healthy|(?:cuda|hip)\s*error|illegal memory access|device-side assert"
    r"|cb_worker_dead|loop is stopped|scheduler hit an exception|actor ?(?:is )?unavailable|replica was removed"
    r"|device ?lost|ggml_(?:assert|abort)|oom-?killed|\bsig(?:abrt|bus|ill|kill|segv)\b|core dumped"
    r"|signal: (?:abort|bus error|illegal|kill|segm)|segmentation fault|(?:exit|return) code -\d",
    re.IGNORECASE | re.DOTALL,
)
# Up to it in its clause a claim is but a guess after these; what follows it may guess at the cause.
_GUESS = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|likely|if|whether|unless|in case|(?:may|might|could) (?:be|have|mean))\b"
    r"(?:,?\s{1,3}(?:because|since|as|after)\b|,)?"
    r"(?:(?!\b(?:because|since|as|after)\b)(?:[^.!?;:,\n]|,(?= or\b))){0,80}\Z",
    re.IGNORECASE,
)
_ASKED = re.compile(r"(?:(?! - )[^.!;:,(\n?]){0,80}\?(?=[\s\"'<)!?]|\Z)")
_GIVES_UP = re.compile(r"\bcompletion\b[^.]{0,80}\baborted\b", re.IGNORECASE)
_BREAKAGE = re.compile(
    r"out of (?:gpu |device |host |system )?memory|\boom\b|(?:insufficient|not enough) memory|allocat\w* fail"
    r"|fail\w* to allocate|cannot allocate|\bcuda|\bhip\b|\brocm\b|\bnccl\b|\bcublas|\bcudnn|device[- ]side"
    r"|crash|segfault|\baclnn|\bnpu\b.{0,20}error|\bcl_(?:out_of|mem_obj)",
    re.IGNORECASE,
)


def announces_death(said: str) -> bool:
    """True where an engine's own words claim that it is dead, and do not only wonder whether."""
    return any(not _is_guessed(said, claim) for claim in _LAST_WORDS.finditer(said))


def _is_guessed(said: str, claim: re.Match[str]) -> bool:
    before = said[max(claim.start() - 100, 0) : claim.start()]
    return _GUESS.search(before) is not None or _ASKED.match(said, claim.end()) is not None


def gives_up(said: str) -> bool:
    """True where whoever generates says that it gave a generation up: who lost its engine speaks of a connection."""
    return _GIVES_UP.search(said) is not None


def names_breakage(said: str) -> bool:
    """True where words name a failure of the machine, or a death, be it but a guess."""
    return bool(_BREAKAGE.search(said) or _LAST_WORDS.search(said))
