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
from collections.abc import Callable, Hashable, Mapping
from enum import Enum
from functools import cache
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import fuzzer.evidence
import fuzzer.model
import fuzzer.observation
import targets.base
import targets.scrape

T = TypeVar("T")
Reader = Callable[[object], object]

_AS_IT_IS = frozenset({type(None), bool, int})
# Names that the dataclasses' annotations use, but that their modules import for type checkers only.
_NAMES = {
    name: value
    for module in (targets.scrape, targets.base, fuzzer.model, fuzzer.observation, fuzzer.evidence)
    for name, value in vars(module).items()
}


class CodecError(ValueError):
    """The value, or the JSON, does not fit the type."""


def dumps(value: object) -> str:
    """`value` as compact JSON text."""
    return text_of(encode(value))


def text_of(encoded: object) -> str:
    """The same of what `encode` made."""
    return json.dumps(encoded, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def loads(kind: type[T], text: str) -> T:
    """The `kind` that `dumps` wrote."""
    return decode(kind, json.loads(text))


def encode(value: object) -> Any:  # noqa: ANN401, PLR0911  (JSON has no narrower type, and a case each)
    """`value` as what `json` can write: dict, list, str, int, float, bool, None."""
    kind = type(value)  # most of what there is, first: the cases below take their time
    if kind in _AS_IT_IS:
        return value
    if kind is str:
        return clean(cast("str", value))
    if kind is dict:
        return {
            key if type(key) is str and key.isascii() else str(encode(key)): encode(item)
            for key, item in cast("dict[object, object]", value).items()
        }
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
            return {name: encode(getattr(value, name)) for name in _fields(type(value))}
        case _:
            raise CodecError(f"JSON cannot hold a {type(value).__name__}")


@cache
def _fields(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


def clean(text: str) -> str:
    """`text` as UTF-8 can hold it."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def decode(kind: type[T], data: object) -> T:
    """The `kind` that `encode` made `data` of; `kind` may be anything that a dataclass's field is annotated with."""
    read: Reader = _reader(cast("Hashable", kind))
    return cast("T", read(data))


@cache
def _reader(kind: Any) -> Reader:  # noqa: ANN401  (annotations have no narrower type, and a case each)
    """What reads a `kind`: found out once a type, for a list of runs decodes thousands of the same."""
    origin, args = get_origin(kind), get_args(kind)
    if origin in {Union, types.UnionType}:
        return _first_that_fits(args)
    if origin is Literal:
        return lambda data: _checked(data in args, kind, data)
    if origin is not None and isinstance(origin, type):
        return _container(origin, args)
    if kind in {object, Any}:
        return lambda data: data
    if not isinstance(kind, type):
        raise CodecError(f"no way to read a {kind}")
    if dataclasses.is_dataclass(kind):
        return _record(kind)
    return _enum(kind) if issubclass(kind, Enum) else _scalar(kind)


def _enum(kind: type[Enum]) -> Reader:
    def read(data: object) -> object:
        try:
            return kind(data)
        except ValueError as error:
            raise CodecError(str(error)) from error

    return read


def _scalar(kind: type) -> Reader:
    def read_float(data: object) -> object:
        if isinstance(data, int | float | str) and not isinstance(data, bool):
            return float(_checked(not isinstance(data, str) or data in {"nan", "inf", "-inf"}, kind, data))
        return _checked(False, kind, data)  # noqa: FBT003

    return read_float if kind is float else lambda data: _checked(type(data) is kind, kind, data)


def _container(origin: type, args: tuple[Any, ...]) -> Reader:
    readers = [_reader(kind) for kind in args if kind is not Ellipsis]

    def read_mapping(data: object) -> object:
        items = _checked(isinstance(data, dict), origin, data).items()
        return {readers[0](key): readers[1](item) for key, item in items}

    def read_fixed(data: object) -> object:
        items = _checked(isinstance(data, list) and len(data) == len(args), origin, data)
        return tuple(read(item) for read, item in zip(readers, items, strict=True))

    def read_many(data: object) -> object:
        return build(map(readers[0], _checked(isinstance(data, list), origin, data)))

    if issubclass(origin, Mapping):
        return read_mapping
    if origin is tuple and args[-1:] != (Ellipsis,):
        return read_fixed
    build = origin if issubclass(origin, frozenset | set | list) else tuple
    return read_many


def _first_that_fits(kinds: tuple[Any, ...]) -> Reader:
    readers = [_reader(kind) for kind in kinds]

    def read(data: object) -> object:
        for read_one in readers:
            try:
                return read_one(data)
            except CodecError:
                continue
        raise CodecError(f"{data!r:.80} fits none of {', '.join(map(str, kinds))}")

    def read_optional(data: object) -> object:
        return None if data is None else readers[0](data)

    return read_optional if kinds[1:] == (types.NoneType,) else read


def _record(kind: type) -> Reader:
    readers = {name: _reader(field) for name, field in fields_of(kind).items()}

    def read(data: object) -> object:
        items: dict[str, object] = _checked(isinstance(data, dict), kind, data)
        if unknown := items.keys() - readers.keys():
            raise CodecError(f"{kind.__name__} has no field {', '.join(sorted(unknown))}")
        try:
            return kind(**{name: readers[name](item) for name, item in items.items()})
        except TypeError as error:  # a field without a default is missing
            raise CodecError(str(error)) from error

    return read


@cache
def fields_of(kind: type) -> Mapping[str, Any]:
    """The dataclass's fields and their types."""
    hints = get_type_hints(kind, localns=_NAMES)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def _checked(fits: bool, kind: Any, data: Any) -> Any:  # noqa: ANN401, FBT001  (one check for every type)
    if not fits:
        raise CodecError(f"{data!r:.80} is no {getattr(kind, '__name__', kind)}")
    return data
