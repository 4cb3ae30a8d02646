"""Does this table fit this dataclass? Strict: no unknown fields, no missing ones, no wrong types."""

from __future__ import annotations

import types
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints


class BadWorld(ValueError):
    """The world is not valid. The message names the field and what it may be."""


T = TypeVar("T")


def build(cls: type[T], data: object, where: str = "") -> T:
    """An instance of the dataclass, nested ones included. Raises BadWorld, which names the field as `a.b[0].c`."""
    if not isinstance(data, dict):
        raise BadWorld(f"{where or 'the world'} must be a table, not {type(data).__name__}")
    hints = get_type_hints(cls)
    known = {f.name: f for f in fields(cls)}  # type: ignore[arg-type]
    for name in data:
        if name not in known:
            raise BadWorld(f"unknown field {_join(where, name)!r}; known are {', '.join(known)}")
    for name, one in known.items():
        if one.default is MISSING and one.default_factory is MISSING and name not in data:
            raise BadWorld(f"{_join(where, name)!r} is missing")
    return cls(**{name: _value(hints[name], value, _join(where, name)) for name, value in data.items()})


def _value(hint: Any, value: object, where: str) -> object:  # noqa: ANN401  (a type, of any shape)
    origin = get_origin(hint)
    if origin in {Union, types.UnionType}:
        inner = next(arg for arg in get_args(hint) if arg is not types.NoneType)
        return None if value is None else _value(inner, value, where)
    if origin is Literal:
        if value not in get_args(hint):
            raise BadWorld(f"{where} must be one of {', '.join(map(str, get_args(hint)))}, not {value!r}")
        return value
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise BadWorld(f"{where} must be a list, not {type(value).__name__}")
        return tuple(_value(get_args(hint)[0], item, f"{where}[{index}]") for index, item in enumerate(value))
    if is_dataclass(hint):
        return build(hint, value, where) if isinstance(hint, type) else value
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not hint:
        raise BadWorld(f"{where} must be a {hint.__name__}, not {value!r}")
    return value


def _join(where: str, name: object) -> str:
    return f"{where}.{name}" if where else str(name)
