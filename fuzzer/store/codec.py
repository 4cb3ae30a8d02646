"""How does a frozen dataclass become JSON, and exactly itself again?

Strict both ways: a value that JSON cannot hold, or a field that nobody knows, is a `CodecError`. A field that is
missing takes its default, so that rows of an older version can be read. Floats come back bit by bit (not finite ones
too, as the strings "nan", "inf", "-inf"); lone surrogates, which no UTF-8 file can hold, become U+FFFD.
"""

from __future__ import annotations

import dataclasses
import json
import math
import types
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import fuzzer.model
import targets.base

T = TypeVar("T")

# Names that the dataclasses' annotations use, but that their modules import for type checkers only.
_NAMES = {**vars(targets.base), **vars(fuzzer.model)}


class CodecError(ValueError):
    """The value, or the JSON, does not fit the type."""


def dumps(value: object) -> str:
    """`value` as compact JSON text."""
    return json.dumps(encode(value), separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def loads(kind: type[T], text: str) -> T:
    """The `kind` that `dumps` wrote."""
    return decode(kind, json.loads(text))


def encode(value: object) -> Any:  # noqa: ANN401, PLR0911  (JSON has no narrower type, and a case each)
    """`value` as what `json` can write: dict, list, str, int, float, bool, None."""
    match value:
        case Enum():
            return encode(value.value)
        case None | bool() | int():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case str():
            return clean(value)
        case Mapping():
            return {str(encode(key)): encode(item) for key, item in value.items()}
        case frozenset() | set():
            return sorted((encode(item) for item in value), key=json.dumps)
        case tuple() | list():
            return [encode(item) for item in value]
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {field.name: encode(getattr(value, field.name)) for field in dataclasses.fields(value)}
        case _:
            raise CodecError(f"JSON cannot hold a {type(value).__name__}")


def clean(text: str) -> str:
    """`text` as UTF-8 can hold it."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def decode(kind: type[T], data: object) -> T:
    """The `kind` that `encode` made `data` of; `kind` may be anything that a dataclass's field is annotated with."""
    return cast("T", _decode(kind, data))


def _decode(kind: Any, data: object) -> object:  # noqa: ANN401  (annotations have no narrower type)
    origin, args = get_origin(kind), get_args(kind)
    if origin in {Union, types.UnionType}:
        return _first_that_fits(args, data)
    if origin is Literal:
        return _checked(data in args, kind, data)
    if origin is not None and isinstance(origin, type):
        return _container(origin, args, data)
    if kind in {object, Any}:
        return data
    if not isinstance(kind, type):
        raise CodecError(f"no way to read a {kind}")
    if dataclasses.is_dataclass(kind):
        return _record(kind, data)
    return _scalar(kind, data)


def _scalar(kind: type, data: object) -> object:
    if issubclass(kind, Enum):
        try:
            return kind(data)
        except ValueError as error:
            raise CodecError(str(error)) from error
    if kind is float and isinstance(data, int | float | str) and not isinstance(data, bool):
        return float(_checked(not isinstance(data, str) or data in {"nan", "inf", "-inf"}, kind, data))
    return _checked(type(data) is kind, kind, data)


def _container(origin: type, args: tuple[Any, ...], data: object) -> object:
    if issubclass(origin, Mapping):
        items = _checked(isinstance(data, dict), origin, data).items()
        return {_decode(args[0], key): _decode(args[1], item) for key, item in items}
    _checked(isinstance(data, list), origin, data)
    items = cast("list[object]", data)
    if origin is tuple and args[-1:] != (Ellipsis,):
        _checked(len(args) == len(items), origin, data)
        return tuple(_decode(kind, item) for kind, item in zip(args, items, strict=True))
    build = origin if issubclass(origin, frozenset | set | list) else tuple
    return build(_decode(args[0], item) for item in items)


def _first_that_fits(kinds: tuple[Any, ...], data: object) -> object:
    for kind in kinds:
        try:
            return _decode(kind, data)
        except CodecError:
            continue
    raise CodecError(f"{data!r:.80} fits none of {', '.join(map(str, kinds))}")


def _record(kind: type, data: object) -> object:
    fields = fields_of(kind)
    items: dict[str, object] = _checked(isinstance(data, dict), kind, data)
    if unknown := items.keys() - fields.keys():
        raise CodecError(f"{kind.__name__} has no field {', '.join(sorted(unknown))}")
    try:
        return kind(**{name: _decode(fields[name], item) for name, item in items.items()})
    except TypeError as error:  # a field without a default is missing
        raise CodecError(str(error)) from error


@cache
def fields_of(kind: type) -> Mapping[str, Any]:
    """The dataclass's fields and their types."""
    hints = get_type_hints(kind, localns=_NAMES)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def _checked(fits: bool, kind: Any, data: Any) -> Any:  # noqa: ANN401, FBT001  (one check for every type)
    if not fits:
        raise CodecError(f"{data!r:.80} is no {getattr(kind, '__name__', kind)}")
    return data
