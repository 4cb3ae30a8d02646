"""What does the target say of itself? Discovery: each path is asked at most once, no generation but a tiny one.

Only here a lost connection is tried again: nothing is measured yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tenacity

from targets.base import Fault
from targets.bodies import at, count, parsed
from targets.errors import TargetBusy, TargetUnusable
from targets.patience import BUSY, MOST_S, unhurried

if TYPE_CHECKING:
    from targets.address import Address
    from targets.exchange import Fetched
    from targets.http import Http
    from targets.traits import Mark, Source, Traits

WITHIN_S = 15.0
MODELS = "/v1/models"
# Names that a model's entry in /v1/models gives its window, best first.
_LIMIT_FIELDS = ("max_model_len", "context_length", "context_window", "max_context_length", "max_input_tokens")
_NAMES_SHOWN = 12
_NAME_CHARS = 1_000  # a model's name goes back with every request; a longer one is none


class Scout:
    """Answers of one target's small GETs, each fetched once."""

    def __init__(self, http: Http, address: Address) -> None:
        self._http = http
        self._address = address
        self._seen: dict[str, Fetched] = {}

    async def get(self, path: str) -> Fetched:
        if path not in self._seen:
            self._seen[path] = await self._again(path)
        return self._seen[path]

    async def json(self, path: str) -> Any:  # noqa: ANN401  (JSON is anything)
        got = await self.get(path)
        return parsed(got.body) if got.ok else None

    async def find(self, sources: tuple[Source, ...], model: str | None) -> list[tuple[str, object]]:
        """Every source that has something to say, as (path and field, value)."""
        found = []
        for source in sources:
            value = _of_model(await self.json(source.path), source.field, model)
            if value is not None:
                found.append((f"{source.path} {source.field.rpartition('@.')[2]}", value))
        return found

    async def betrays(self, mark: Mark) -> bool:
        got = await self.get(mark.path)
        name, _, part = mark.header.partition(":")
        return (
            got.ok
            and (not mark.field or at(parsed(got.body), mark.field) is not None)
            and mark.text in got.text
            and (not name or part.strip() in got.headers.get(name, "\0").lower())
        )

    async def _again(self, path: str) -> Fetched:
        def transient(got: Fetched) -> bool:
            return got.fault in {Fault.RESET, Fault.CUT} or got.status == 502

        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_result(transient),
            stop=tenacity.stop_after_attempt(3),
            wait=tenacity.wait_fixed(0.3),
            retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
        )

        async def ask() -> Fetched:
            got: Fetched = await retrying(self._http.fetch, "GET", self._address.at(path), within_s=WITHIN_S)
            return got

        return await (unhurried(ask) if path == MODELS else ask())  # who lets us in there lets us in


def entries(listing: object) -> list[dict[str, Any]]:
    """The entries of a /v1/models answer that have a name."""
    data = at(listing, "data")
    if not isinstance(data, list):
        return []
    return [entry for entry in data if isinstance(entry, dict) and _is_name(entry.get("id"))]


def _is_name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _NAME_CHARS


def limits_of(entry: object) -> dict[str, int]:
    """Every limit that a model's entry names, best first."""
    found = {f"{MODELS} {name}": count(at(entry, name)) for name in _LIMIT_FIELDS}
    return {source: value for source, value in found.items() if value}


def choose(given: str | None, listed: list[dict[str, Any]], traits: Traits) -> str | None:
    """The model that will be asked. Raises TargetUnusable, naming those that exist, where it is not the user's choice.

    Several names of one model (the same `root`) are no choice to make; adapters (with a `parent`) are never guessed.
    """
    names = [str(entry["id"]) for entry in listed]
    shown = ", ".join(_printable(name) for name in names[:_NAMES_SHOWN])
    if given is not None:
        if names and given not in names and not traits.wrong_model_is_200:
            raise TargetUnusable(f"The server has no model {given!r}. Choose with --model one of: {shown}.")
        return given
    bases = [entry for entry in listed if not entry.get("parent")]
    roots = {str(entry.get("root") or entry["id"]) for entry in bases}
    if len(roots) == 1:
        return str(bases[0]["id"])
    if names:
        raise TargetUnusable(f"The server has several models. Choose with --model one of: {shown}.")
    if traits.wrong_model_is_200:
        return None
    raise TargetUnusable("The server does not name its models: name the one to ask with --model.")


def refuse_unusable(got: Fetched, address: Address, traits: Traits | None = None) -> None:
    """Raise TargetUnusable with a next step where the answer to /v1/models shows that nothing can be asked here."""
    where = address.root
    if got.fault is not None and got.fault is not Fault.OVERSIZE:
        sentence = _FAULTS.get(got.fault, _LOST)
        raise TargetUnusable(sentence.format(url=where, text=got.fault_text))
    status = got.status or 0
    if status in {401, 403}:
        raise TargetUnusable(f"{where} answers {status}: give a valid key with --api-key or OPENAI_API_KEY.")
    if status == 407:
        raise TargetUnusable("Our forward proxy wants credentials: put them into HTTPS_PROXY, or set NO_PROXY.")
    if 300 <= status < 400:
        target = got.headers.get("location", "").partition("?")[0].rpartition("@")[2]
        raise TargetUnusable(f"{where} redirects to {_printable(target)}: give that address as --url.")
    if traits is not None and traits.models_may_fail:
        return
    if status == 404:
        raise TargetUnusable(
            f"{where}{MODELS} does not exist (404): check the path of --url. It may end in /v1 or not, but a prefix"
            " such as /openai must be in it."
        )
    refuse_busy(got, where)
    if status == 503:
        raise TargetUnusable(f"{where} is not ready (503: {_printable(got.text)}): try again when it serves.")
    if not 200 <= status < 300:
        raise TargetUnusable(f"{where}{MODELS} answers {status} ({_printable(got.text)}): look at the server's log.")
    if parsed(got.body) is None:
        what = "a web page" if got.text.lstrip()[:1] == "<" else "something that is no JSON"
        raise TargetUnusable(f"{where}{MODELS} answers {what}: --url must be the API's address, not a console's.")


def refuse_busy(got: Fetched, where: str) -> None:
    """Raise TargetBusy where a request was turned away in the end."""
    if got.status == BUSY:
        raise TargetBusy(
            f"{where} is busy: it answers 429 ({_printable(got.text)}), also after up to {MOST_S:.0f} s of waiting. "
            "Ask when it is free, or raise the rate limit of this key."
        )


_LOST = "{url} hung up before it answered ({text}): is the server restarting? See its log."
_FAULTS = {
    Fault.REFUSED: "Nobody listens at {url} ({text}): is the server up, and is the port right?",
    Fault.NO_ROUTE: "{url} cannot be reached ({text}): check the host name and the route to it.",
    Fault.TLS: "The TLS handshake with {url} failed ({text}): is it https? Else give --cacert FILE or --insecure.",
    Fault.PROXY: "Our forward proxy does not let us to {url} ({text}): check HTTP_PROXY, HTTPS_PROXY and NO_PROXY.",
    Fault.TIMEOUT: "{url} accepts connections but does not answer ({text}): is the server overloaded or stopped?",
    Fault.PROTOCOL: "{url} does not speak HTTP as we do ({text}): check the port, and http against https.",
}


def _of_model(value: object, path: str, model: str | None) -> object:
    """The field at a dotted path in which `@` is the list item of our model, or of the only one."""
    head, sign, tail = path.partition(".@.")
    found = at(value, head)
    if not sign:
        return found
    items = found if isinstance(found, list) else []
    ours = [item for item in items if model in [at(item, name) for name in ("id", "name", "model")]] or items
    return at(ours[0], tail) if len(ours) == 1 else None


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text[:120]).strip()
