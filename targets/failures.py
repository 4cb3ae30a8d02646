"""Do a server's own words claim that the engine died, or that its machine failed? PURE.

No refusal says so, whatever else it names: not every failure has a status of its own. A guess is no claim of a death.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_WHO = (
    r"(?:engine(?:\s{0,3}core)?|runner|worker|actor|replica|model|server|backend|child|subprocess|process|stub|scheduler"
    r"|executor|container|pod|manager|command|background|llm)"
)
_HAS = r"(?:\s{1,3}(?:is|was|has|had|have|been)){0,2}"
_GONE = (
    r"(?:dead|died|crashed|exited|terminated|killed|(?:no longer|not) running|unloaded|shutting down|errored already"
    r"|unexpectedly\s{1,3}(?:stop|exit|terminat))(?!-|\s{1,3}(?:the|your|this|its)\b)"
)
# How a shell, a supervisor or Python numbers the signal that ended a process: 128 and it, less than 0, or by itself.
_NUMBER = r"(?:4|5|6|7|8|9|11|15)\b(?! of\b|\.\d)"
_SIGNAL = rf"\bsignal(?: number)?[ (#]{{1,3}}{_NUMBER}"
_ENDED = (
    r"(?:exit|exited|killed|terminated|died|crashed|aborted|stopped|fatal|(?:un)?caught|received|raised|got|with|by|on)"
)
_BY_A_SIGNAL = (
    r"\b(?:exit(?:ed|s)?(?:[ _-](?:with|an?|non-?zero|exit)){0,3}[ _-]?(?:code|status)"
    r"|return(?:ed|s)?(?:[ _-](?:with|an?|non-?zero)){0,3}[ _-]?code)[\"']?(?: of)?"  # a status is a function's, too
    r"[ :=(]{0,3}(?:-\d|(?:13[2-7]|139|143)(?![\w.]\d|\d))"
    rf"|\b{_ENDED}\W{{1,3}}(?:an? |the )?{_SIGNAL}|{_SIGNAL}\W{{1,3}}(?:was )?(?:received|caught|raised)\b"
    rf"|\bsignal(?: number)?[\"']? ?[:=] ?{_NUMBER}"
)
# Engines, and what runs them, that announce a death.
_LAST_WORDS = re.compile(
    rf"EngineCore encountered|EngineDead|\b\w{{0,20}}{_WHO}(?:\s{{1,3}}(?:process|loop))?{_HAS}\s{{1,3}}{_GONE}"
    r"|(?:stub|worker) process.{0,80}not healthy|(?:cuda|hip)\s*error|illegal memory access|device-side assert"
    r"|cb_worker_dead|loop is stopped|scheduler hit an exception|actor ?(?:is )?unavailable|replica was removed"
    r"|device ?lost|ggml_(?:assert|abort)|oom-?killed|\bsig(?:abrt|bus|ill|kill|segv)\b|core dumped"
    r"|signal: (?:abort|bus error|illegal|kill|segm)|segmentation fault|mpi_abort (?:was |has been )?(?:invoked|called)"
    rf"|{_BY_A_SIGNAL}",
    re.IGNORECASE | re.DOTALL,
)
# Up to it in its clause a claim is but a guess after these; what follows it may guess at the cause.
_GUESS = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|likely|if|whether|unless|in case|(?:may|might|could) (?:be|have|mean))\b"
    r"(?:,?\s{1,3}(?:because|since|as|after)\b|,)?"
    r"(?:(?!\b(?:because|since|as|after)\b)(?:[^.!?;:,\n]|,(?= or\b))){0,80}\Z",
    re.IGNORECASE,
)
# A request that is shown holds anybody's words: a prompt may be a log of yesterday's crash. So does what was generated
# and cannot be parsed: llama.cpp shows it, to its end and without quotes. An apostrophe after a word opens none.
_QUOTED = re.compile(
    r"\b(?:prompt|input)s?[\"']?\s{0,3}(?:[:=(]|was|is)?\s{0,3}[(\[{]?"
    r"(?:\"[^\"]*|(?<!\w)'(?:[^']|(?<=\w)'(?=\w))*|`[^`]*|\u201c[^\u201d]*)\Z"
    r"|\bfailed to parse input at pos \d{1,12}:",
    re.IGNORECASE,
)
_ASKED = re.compile(r"(?:(?! - )[^.!;:,(\n?]){0,80}\?(?=[\s\"'<)!?]|\Z)")
_GIVES_UP = re.compile(r"\bcompletion\b[^.]{0,80}\baborted\b", re.IGNORECASE)
_NO_MEMORY = (
    r"out of (?:gpu |device |host |system )?memory|\boom\b|(?:insufficient|not enough) memory"
    r"|memory\s{1,3}(?:(?:is|was|has been)\s{1,3})?exhausted"
)
_OF_A_SIZE = r"allocat\w{0,4}\s{1,3}\d[\d.,]{0,15}\s{0,3}(?:bytes\b|[kmgt]i?b\b)"
_MEMORY_RAN_OUT = re.compile(rf"{_NO_MEMORY}|{_OF_A_SIZE}", re.IGNORECASE)
# Who ended, is to start, or is looked for: whoever lost an engine to its memory, or has no place for one, says so.
_SOMEBODY_IS_AWAY = re.compile(
    r"kill|evict|crash|exit|terminat|abort|\bdie[ds]?\b|\bdead\b|\blost\b|stopped|shut|unavailable|unhealthy"
    r"|(?:re)?start|recover|re-?spawn|re-?boot|relaunch|retry (?:in|after)\b|\b(?:re|un)?load(?:s|ed|ing)?\b|schedul"
    r"|provision|\bnodes?\b|\bpods?\b|container|instance|replica|worker|backend|upstream|deployment|connect",
    re.IGNORECASE,
)
_BREAKAGE = re.compile(
    rf"{_NO_MEMORY}|allocat\w* fail"
    r"|fail\w* to allocate|cannot allocate|\bcuda|\bhip\b|\brocm\b|\bnccl\b|\bcublas|\bcudnn|device[- ]side"
    r"|crash|segfault|\baclnn|\bnpu\b.{0,20}error|\bcl_(?:out_of|mem_obj)",
    re.IGNORECASE,
)


def announces_death(said: str) -> bool:
    """True where an engine's own words claim that it is dead, and do not only wonder whether, or quote a request."""
    return any(not _is_guessed(said, claim) for claim in _said_by_itself(_LAST_WORDS, said))


def _said_by_itself(words: re.Pattern[str], said: str) -> Iterator[re.Match[str]]:
    return (found for found in words.finditer(said) if not _QUOTED.search(said[: found.start()]))


def _is_guessed(said: str, claim: re.Match[str]) -> bool:
    before = said[max(claim.start() - 100, 0) : claim.start()]
    return _GUESS.search(before) is not None or _ASKED.match(said, claim.end()) is not None


def gives_up(said: str) -> bool:
    """True where whoever generates says that it gave a generation up: who lost its engine speaks of a connection."""
    return _GIVES_UP.search(said) is not None


def is_short_of_memory(said: str) -> bool:
    """True where whoever generates says that its memory did not do for a request, and nothing of an end or a start.

    Who only stands before an engine knows nothing of its memory, unless that engine is gone for it.
    """
    return _MEMORY_RAN_OUT.search(said) is not None and _SOMEBODY_IS_AWAY.search(said) is None


def names_breakage(said: str) -> bool:
    """True where words name a failure of the machine, or a death, be it but a guess."""
    return any(True for words in (_BREAKAGE, _LAST_WORDS) for _ in _said_by_itself(words, said))
