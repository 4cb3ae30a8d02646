"""What did one probe show? PURE: `judge` turns an Evidence into a Verdict; each module here tells one thing apart."""

from __future__ import annotations

from fuzzer.outcome.judge import judge

__all__ = ["judge"]
