"""Who is at work on this target? One run at a time per target and database.

The lock is the kernel's (`flock` on a small file beside the database), so it ends with its process, however that
ends: nothing is ever stale. A run holds it for itself alone; whoever only looks shares it for a moment, which he can
only where no run holds it. What the file says is only for people: who holds it, where, since when.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import socket
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from fuzzer.store.clock import utc_now
from fuzzer.store.errors import StoreError, TargetLocked
from fuzzer.store.masking import masked_url

if TYPE_CHECKING:
    from collections.abc import Iterator

LOOKS: Final = 500  # so many tries, a millisecond apart, are for those who only look


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a target's lock. `run` is empty until the run has begun."""

    pid: int
    host: str
    url: str
    since_utc: str
    run: str = ""


class Held:
    """The lock, held by this process."""

    def __init__(self, descriptor: int, url: str) -> None:
        self._descriptor = descriptor
        self._holder = Holder(os.getpid(), socket.gethostname(), masked_url(url), utc_now())
        self.name("")

    def name(self, run: str) -> None:
        """Tell others for which run the lock is held."""
        self._holder = replace(self._holder, run=run)
        text = json.dumps(asdict(self._holder)).encode()
        os.pwrite(self._descriptor, text, 0)
        os.ftruncate(self._descriptor, len(text))


@contextmanager
def target_lock(database: Path, url: str) -> Iterator[Held]:
    """Hold the target of `url`, or raise TargetLocked naming who holds it. The file goes when we leave.

    Raises StoreError where no file can be locked.
    """
    path = _path(database, url)
    try:
        descriptor = _taken(path)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be created or locked ({error.strerror}). Choose another place with --db."
        ) from error
    try:
        yield Held(descriptor, url)
    finally:
        path.unlink(missing_ok=True)  # while it is still held: nobody can hold the file that we remove
        os.close(descriptor)


def holder(database: Path, url: str) -> Holder | None:
    """Who holds the target, wherever it runs. What a run that was killed has left behind holds nothing."""
    path = _path(database, url)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return None if _flocked(descriptor, fcntl.LOCK_SH) else _holder(path)
    except OSError:  # a file system that knows no locks: what the file says is all there is
        return _holder(path)
    finally:
        os.close(descriptor)


def _taken(path: Path) -> int:
    for _ in range(LOOKS):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        if _flocked(descriptor, fcntl.LOCK_EX):
            if _is_at(descriptor, path):
                return descriptor
            os.close(descriptor)  # the holder before us removed this file after we had opened it
            continue
        is_only_looked_at = _flocked(descriptor, fcntl.LOCK_SH)
        os.close(descriptor)
        if not is_only_looked_at:
            break
        time.sleep(0.001)
    raise TargetLocked(_who(path))


def _flocked(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _who(path: Path) -> str:
    found = _holder(path)
    if found is None:
        return "Another run is at work on this target. Wait for it to end, or use another database with --db."
    run = f"run {found.run}" if found.run else "a run that is about to begin"
    return (
        f"{found.url} is being probed by {run} (pid {found.pid} on {found.host}, since {found.since_utc}). "
        "Wait for it to end, or end that process."
    )


def _holder(path: Path) -> Holder | None:
    try:
        return Holder(**json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError):  # gone, or read while it was being written
        return None


def _path(database: Path, url: str) -> Path:
    real = database.resolve()
    return real.with_name(f"{real.name}.{hashlib.sha256(target_key(url).encode()).hexdigest()[:12]}.lock")


def target_key(url: str) -> str:
    """One text for every way to write a target: case of the host, a default port, `/` or `/v1` at the end."""
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    return f"{parts.hostname}:{port}{parts.path.rstrip('/').removesuffix('/v1')}"
