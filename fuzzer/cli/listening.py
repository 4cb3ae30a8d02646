"""Can a server of ours be had at this address?"""

from __future__ import annotations

import errno
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from fuzzer.errors import UsageFault

if TYPE_CHECKING:
    from collections.abc import Iterator

NOT_TO_BE_HAD: Final = frozenset({errno.EADDRINUSE, errno.EACCES, errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})


@contextmanager
def listening_at(host: str, port: int) -> Iterator[None]:
    """To be held around what begins to listen. Raises UsageFault where the address cannot be had."""
    try:
        yield
    except OSError as error:
        if not isinstance(error, socket.gaierror) and error.errno not in NOT_TO_BE_HAD:
            raise
        raise UsageFault(
            f"{host}:{port} cannot be listened on: {error.strerror}. Choose another --port or --host."
        ) from None
    except UnicodeError:  # a name of more letters than DNS has room for
        raise UsageFault(f"{host[:60]} is the name of no host: choose another --host.") from None


def refuse_taken(host: str, port: int) -> None:
    """Raises UsageFault where another process could not listen there now."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with listening_at(host, port), socket.create_server((host, port), family=family):
        pass
