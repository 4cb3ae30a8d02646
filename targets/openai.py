"""How is an OpenAI-compatible endpoint asked? One Target for every dialect; what differs is in its Traits."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from targets import overloads, proxies, refusals
from targets.answer import Answer
from targets.base import Fault, Generation, Health, Prompt, Reply, Survey
from targets.bodies import at, count, parsed, server_error, string, token_ids
from targets.metrics import scrape
from targets.patience import unhurried
from targets.scout import MODELS, Scout, choose, entries, limits_of, refuse_busy, refuse_unusable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from targets.address import Address
    from targets.base import ProxySign, Refusal, ServerError
    from targets.exchange import Fetched, Upload
    from targets.http import Http
    from targets.scrape import Scrape
    from targets.traits import Source, Tokenizing, Traits

POLL_S = 10.0
TOKENIZE_S = 60.0
TINY_S = 60.0
_DETAIL_CHARS = 200
_EXCERPT_CHARS = 2_048
_METRICS_BYTES = 4 << 20
_IDS_BYTES_FREE = 1 << 20
_IDS_BYTES_PER_BYTE = 64  # no byte of a text becomes more than one id, and no id takes more than this
_TINY_IDS = (1000, 1001, 1002, 1003)


class OpenAITarget:
    """One endpoint in one dialect. See `targets.target.Target` for what each method promises."""

    def __init__(
        self,
        http: Http,
        address: Address,
        traits: Traits,
        *,
        model: str | None = None,
        health_url: str | None = None,
        metrics_url: str | None = None,
    ) -> None:
        self.url = address.root
        self.traits = traits
        self._http = http
        self._address = address
        self._model = model
        self._health_url = health_url or address.at(traits.health_path)
        self._metrics_url = metrics_url or address.at("/metrics")

    def __repr__(self) -> str:
        return f"OpenAITarget({self.url!r}, {self.traits.name!r})"

    async def survey(self, scout: Scout | None = None) -> Survey:
        """`scout` brings what was already fetched on the way here."""
        scout = scout or Scout(self._http, self._address)
        refuse_unusable(await scout.get(MODELS), self._address, self.traits)
        listed = entries(await scout.json(MODELS))
        self._model = choose(self._model, listed, self.traits)
        ours = self._ours(listed)
        limits = await self._limits(scout, ours)
        answered = await self._first_tokens()
        tokenized = parsed(answered.body) if answered is not None and answered.ok else None
        has_tokenize = tokenized is not None and token_ids(tokenized) is not None
        if self.traits.tokenizing is not None and self.traits.tokenizing.tells_limit:
            told = count(at(tokenized, "max_model_len"))
            limits |= {f"{self.traits.tokenizing.path} max_model_len": told} if told else {}
        slots = [count(value) for _, value in await scout.find(self.traits.slots, self._model)]
        version = await self._version(scout)
        self.traits = self.traits.as_of(version)
        return Survey(
            engine=self.traits.name,
            version=version,
            models=tuple(str(entry["id"]) for entry in listed),
            model=self._model,
            limit=next(iter(limits.values()), None),
            limits=limits,
            takes_ids=await self._takes_ids() if self.traits.ids_open else self.traits.ids,
            has_tokenize=has_tokenize,
            has_metrics=await self.metrics() is not None,
            slots=slots[0] if slots else None,
        )

    async def limit(self) -> int | None:
        scout = Scout(self._http, self._address)
        limits = await self._limits(scout, self._ours(entries(await scout.json(MODELS))))
        return next(iter(limits.values()), None)

    async def version(self) -> str | None:
        return await self._version(Scout(self._http, self._address))

    async def _version(self, scout: Scout) -> str | None:
        told = await scout.find(self.traits.version, self._model)
        return next((text for _, value in told if (text := string(value))), None)

    def _ours(self, listed: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        """The entry of our model."""
        return next((entry for entry in listed if entry["id"] == self._model), listed[0] if len(listed) == 1 else {})

    async def _limits(self, scout: Scout, ours: Mapping[str, Any]) -> dict[str, int]:
        """What names a limit, best first. No request can fill a window that is larger than what holds it."""
        limits = limits_of(ours) | await self._counts(scout, self.traits.limits)
        bounds = await self._counts(scout, self.traits.bounds)
        window = next(iter(limits.values()), None)
        return {source: held for source, held in bounds.items() if window is None or held < window} | limits

    async def _counts(self, scout: Scout, sources: tuple[Source, ...]) -> dict[str, int]:
        told = await scout.find(sources, self._model)
        return {source: number for source, value in told if (number := count(value))}

    async def health(self) -> Health:
        got = await self._http.fetch("GET", self._health_url, within_s=POLL_S, limit=1 << 16)
        at_s = time.monotonic()
        if got.status is None or got.fault not in {None, Fault.OVERSIZE}:
            return Health(at_s, fault=got.fault)
        detail = "" if got.status == 200 else got.text[:_DETAIL_CHARS]
        return Health(at_s, got.status, detail=detail, wait_s=refusals.retry_after(got.headers))

    async def metrics(self) -> Scrape | None:
        got = await self._http.fetch("GET", self._metrics_url, within_s=POLL_S, limit=_METRICS_BYTES)
        return scrape(got.text, got.headers, time.monotonic()) if got.ok else None

    async def tokenize(self, text: str) -> Sequence[int] | Reply | None:
        began = time.monotonic()
        if (got := await self._ask_tokenizer(text)) is None:
            return None
        value = parsed(got.body)
        ids = token_ids(value) if got.ok else None
        return _instead(got, server_error(value), time.monotonic() - began) if ids is None else ids

    def encode(self, generation: Generation) -> bytes:
        """The prompt's own bytes between two small pieces of JSON: a list of a million ids is never encoded again."""
        traits, prompt = self.traits, generation.prompt
        fields: dict[str, object] = {"temperature": generation.temperature}
        if generation.max_tokens is not None:
            fields["max_tokens"] = generation.max_tokens
        if generation.stream:
            fields |= {"stream": True, "stream_options": {"include_usage": True}}
        if traits.ignore_eos and generation.ignore_eos:
            fields["ignore_eos"] = True
        if traits.min_tokens and generation.min_tokens is not None:
            fields["min_tokens"] = generation.min_tokens
        if traits.cache_salt and generation.cache_salt:
            fields["cache_salt"] = generation.cache_salt
        if traits.cache_prompt and generation.cold:
            fields["cache_prompt"] = False
        if generation.token_ids:
            fields["return_token_ids"] = True
        head = {} if self._model is None else {"model": self._model}
        name = b'"messages":' if prompt.mode == "chat" else b'"prompt":'
        front = json.dumps(head, separators=(",", ":")).encode()[:-1] + (b"," if head else b"")
        back = json.dumps(fields, separators=(",", ":")).encode()[1:]
        return b"".join((front, name, prompt.json, b",", back))

    async def generate(
        self,
        generation: Generation,
        body: bytes,
        *,
        on_progress: Callable[[], None] | None = None,
        on_token: Callable[[], None] = lambda: None,
        upload: Upload | None = None,
    ) -> Reply:
        path = "/v1/chat/completions" if generation.prompt.mode == "chat" else "/v1/completions"
        answer = Answer(generation, on_token=on_token)
        url = self._address.at(path)
        seen = await self._http.exchange("POST", url, answer, body=body, on_progress=on_progress, upload=upload)
        return answer.reply(seen)

    def refusal(self, reply: Reply) -> Refusal | None:
        return refusals.refusal(reply)

    def proxy_sign(self, reply: Reply) -> ProxySign | None:
        return proxies.sign(reply)

    def overload(self, reply: Reply) -> float | None:
        return overloads.overload(reply)

    async def aclose(self) -> None:
        await self._http.aclose()

    async def _ask_tokenizer(self, text: str) -> Fetched | None:
        """What the tokenizer's endpoint answers; None where there is none."""
        way = self.traits.tokenizing
        if way is None:
            return None
        path, body = self._tokenizing(way, text)
        most = _IDS_BYTES_FREE + _IDS_BYTES_PER_BYTE * len(text.encode(errors="replace"))
        return await self._post(path, body, TOKENIZE_S, most)

    def _tokenizing(self, way: Tokenizing, text: str) -> tuple[str, bytes]:
        """Where, and with which body, the ids of a text are asked for."""
        fields = {way.text_field: text, **way.fixed} | ({"model": self._model} if way.names_model else {})
        return way.path, json.dumps(fields).encode()

    async def _first_tokens(self) -> Fetched | None:
        """What its tokenizer makes of a letter; None where there is none. Raises TargetBusy."""
        if self.traits.tokenizing is None:
            return None
        path, body = self._tokenizing(self.traits.tokenizing, "a")
        got = await unhurried(lambda: self._post(path, body, TOKENIZE_S, _IDS_BYTES_FREE))
        refuse_busy(got, self._address.root)
        return got

    async def _takes_ids(self) -> bool:
        """One tiny generation tells: four ids must be counted as four (or five, with a BOS)."""
        prompt = Prompt("ids", json.dumps(_TINY_IDS).encode(), len(_TINY_IDS))
        body = self.encode(Generation(prompt, 1, stream=False))
        got = await self._post("/v1/completions", body, TINY_S, 1 << 20)
        counted = count(at(parsed(got.body), "usage.prompt_tokens")) if got.ok else None
        return counted in {len(_TINY_IDS), len(_TINY_IDS) + 1}

    async def _post(self, path: str, body: bytes, within_s: float, limit: int) -> Fetched:
        return await self._http.fetch("POST", self._address.at(path), body=body, within_s=within_s, limit=limit)


def _instead(got: Fetched, error: ServerError | None, ended_s: float) -> Reply:
    """What came back where something else was expected."""
    return Reply(
        sent=got.fault is None or not got.fault.nothing_sent,
        status=got.status,
        fault=got.fault,
        fault_text=got.fault_text,
        headers=got.headers,
        complete=got.fault is None,
        error=error,
        excerpt=got.text[:_EXCERPT_CHARS],
        ended_s=ended_s,
    )
