"""What is probed next, and what does it all mean? PURE generators: no I/O, no clock, no randomness of their own.

A plan yields a `ProbeSpec` and is sent the `Observation`; it returns a `Finding`. Resume is replay: a fresh plan fed
the recorded observations stands where the old one stood.
"""

from __future__ import annotations

from collections.abc import Generator

from fuzzer.finding import Finding
from fuzzer.model import ProbeSpec
from fuzzer.observation import Observation

Plan = Generator[ProbeSpec, Observation, Finding]
