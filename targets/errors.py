"""What stops us before a target can be used? Each message is a sentence with a next step."""

from __future__ import annotations


class TargetUnusable(Exception):
    """The target cannot be used at all: unreachable, unauthorised, wrong model, TLS. The CLI exits with 4."""


class TargetBusy(TargetUnusable):
    """It is there, and turns everybody away for now. The CLI exits with 3."""


class UnreadableEnvironment(TargetUnusable):
    """A variable of the environment that decides how the target is reached cannot be read. The CLI exits with 2."""
