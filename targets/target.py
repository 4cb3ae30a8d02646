"""What can be asked of a target? One protocol, which each dialect keeps. Pure: no I/O, no clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from targets.base import Generation, Health, ProxySign, Refusal, Reply, Survey
    from targets.exchange import Upload
    from targets.scrape import Scrape
    from targets.traits import Traits


class Target(Protocol):
    """One endpoint in one dialect. Methods raise nothing for what the target does: it is all in what they return.

    `TargetUnusable` (targets.errors) is raised by `survey` alone: unreachable, unauthorised, wrong model, TLS.
    """

    url: str  # without credentials: fit to be shown and stored
    traits: Traits

    async def survey(self) -> Survey: ...

    async def limit(self) -> int | None:
        """What it advertises now as its max_model_len, tokens; None where nothing tells."""
        ...

    async def version(self) -> str | None:
        """Which version it says now that it is; None where nothing tells."""
        ...

    async def health(self) -> Health: ...

    async def metrics(self) -> Scrape | None:
        """A scrape on a fresh connection, or None where there is none (404, no parsable text, a fault)."""
        ...

    async def tokenize(self, text: str) -> Sequence[int] | Reply | None:
        """The server's ids of `text` without special tokens, or what came back instead; None: it has no tokenizer."""
        ...

    def encode(self, generation: Generation) -> bytes:
        """The exact bytes of the request body."""
        ...

    async def generate(
        self,
        generation: Generation,
        body: bytes,
        *,
        on_progress: Callable[[], None] | None = None,
        on_token: Callable[[], None] = lambda: None,
        upload: Upload | None = None,
    ) -> Reply:
        """Send once, never again. Cancellable at any await.

        `on_progress` is called at every chunk of the response, `on_token` at each token of it that was asked for;
        `upload` tells all the while how much of the body has gone.
        """
        ...

    def refusal(self, reply: Reply) -> Refusal | None:
        """The reply as a refusal for its length, if it is one. Pure."""
        ...

    def proxy_sign(self, reply: Reply) -> ProxySign | None:
        """What in the reply is a proxy's (or the door's) doing, if anything. Pure."""
        ...

    def overload(self, reply: Reply) -> float | None:
        """Seconds to wait (0 where it names none) if the reply says that the engine is busy, else None. Pure."""
        ...

    async def aclose(self) -> None: ...
