"""Do a server's own words claim that the engine died, or that its machine failed? PURE.

No refusal says so, whatever else it names: not every failure has a status of its own.
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
_BREAKAGE = re.compile(
    r"out of (?:gpu |device |host |system )?memory|\boom\b|(?:insufficient|not enough) memory|allocat\w* fail"
    r"|fail\w* to allocate|cannot allocate|\bcuda|\bhip\b|\brocm\b|\bnccl\b|\bcublas|\bcudnn|device[- ]side"
    r"|crash|segfault|\baclnn|\bnpu\b.{0,20}error|\bcl_(?:out_of|mem_obj)",
    re.IGNORECASE,
)


def announces_death(said: str) -> bool:
    """True where an engine's own words claim that it is dead."""
    return bool(_LAST_WORDS.search(said))


def names_breakage(said: str) -> bool:
    """True where words name a failure of the machine, or a death."""
    return bool(_BREAKAGE.search(said)) or announces_death(said)
