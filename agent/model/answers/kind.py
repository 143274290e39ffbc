"""What makes a class an answer, and what a command that fails answers.

What makes a class an answer: frozen, made by keywords, and described by the docstrings of it and of its fields.

An answer is what a command has found, before anything is printed: the text for people, the document of ``--json`` and
``/api/v1`` and its JSON Schema all come from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, FrozenInstanceError, dataclass, fields
from typing import Any, TypeVar, dataclass_transform

_Kind = TypeVar("_Kind")
DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass_transform(frozen_default=True, kw_only_default=True)
def answer(kind: type[_Kind]) -> type[_Kind]:
    """Make a class a frozen dataclass whose schema is made of its types, its docstring and those behind its fields.

    A field whose name would be a word of Python's ends with an underscore, which its key does not have.
    """
    # What pydantic looks for. Every field is printed, so that none is missing where it has a default.
    config = {
        "alias_generator": _key_of,
        "use_attribute_docstrings": True,
        "json_schema_serialization_defaults_required": True,
    }
    kind.__pydantic_config__ = config  # type: ignore[attr-defined]
    # dataclass would compile these for every class: a tenth of the processor time of a short command.
    for name, method in _METHODS.items():
        setattr(kind, name, method)
    return dataclass(init=False, repr=False, eq=False, kw_only=True)(kind)  # without slots: an answer may extend two


def _fill(self: object, **given: object) -> None:
    named = fields(self)  # type: ignore[arg-type]  # an answer
    lacks = [each.name for each in named if each.default is MISSING and each.name not in given]
    if lacks or not given.keys() <= {each.name for each in named}:
        wrong = f"lacks {', '.join(lacks)}" if lacks else f"has no {', '.join(given.keys() - {f.name for f in named})}"
        raise TypeError(f"{type(self).__name__} {wrong}")
    vars(self).update(given)  # defaults are the class's


def _refuse(self: object, name: str, *_: object) -> None:
    raise FrozenInstanceError(f"{name} of {type(self).__name__} is as it was made")


def _is_equal(self: object, other: object) -> bool:
    return type(self) is type(other) and _fields_of(self) == _fields_of(other)


def _hash(self: object) -> int:
    return hash(tuple(_fields_of(self).values()))


def _show(self: object) -> str:
    return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in _fields_of(self).items())})"


_METHODS = {
    "__init__": _fill, "__setattr__": _refuse, "__delattr__": _refuse,
    "__eq__": _is_equal, "__hash__": _hash, "__repr__": _show,
}  # fmt: skip


def _key_of(field: str) -> str:
    return field.rstrip("_")


def extend(kind: type[_Kind], *bases: object, **more: object) -> _Kind:
    """An answer of that kind with the fields of the answers that it extends, and more; what is given last counts.

    Raises:
        TypeError: a field is missing, or there is no such field.
    """
    return kind(**_fields_of(*bases) | more)


def narrow(kind: type[_Kind], wide: object, **more: object) -> _Kind:
    """The same from an answer that has fields which the kind does not have.

    Raises:
        TypeError: a field is missing.
    """
    wanted = keys_of(kind).values()
    return kind(**{name: value for name, value in _fields_of(wide).items() if name in wanted} | more)


def _fields_of(*shown: object) -> dict[str, Any]:
    return {name: getattr(each, name) for each in shown for name in keys_of(type(each)).values()}


def is_answer(value: object) -> bool:
    """Whether ``answer`` made its class."""
    return hasattr(type(value), "__pydantic_config__")


def mapping_of(shown: object) -> dict[str, Any]:
    """The document of an answer: its values by their keys, not yet plain."""
    return {key: getattr(shown, name) for key, name in keys_of(type(shown)).items()}


def keys_of(kind: type[Any]) -> Mapping[str, str]:
    """The keys of an answer's document in their order, with the names of the fields."""
    return {_key_of(field.name): field.name for field in fields(kind)}


def schema_of(kind: Any, title: str) -> dict[str, Any]:  # noqa: ANN401  # a class, or a union of them
    """The JSON Schema (2020-12) of the document of an answer.

    Args:
        kind: a class that ``answer`` made, or a union of such classes.
        title: what prints it.
    """
    from pydantic import TypeAdapter  # only descriptions and tests ask for it

    made = _as_printed(TypeAdapter(kind).json_schema(mode="serialization"))
    return {"$schema": DIALECT, "title": title, **made}


def _as_printed(part: Any) -> Any:  # noqa: ANN401  # whatever a schema holds
    """The schema as documents are printed: a number that is not finite is null, and no key is ever missing.

    Titles that pydantic makes of names say nothing more.
    """
    if isinstance(part, list):
        return [_as_printed(inner) for inner in part]
    if not isinstance(part, dict):
        return part
    if part.get("type") == "number":
        return {**part, "type": ["number", "null"]}
    return {
        key: {name: _as_printed(inner) for name, inner in value.items()}
        if key in {"properties", "$defs"}
        else _as_printed(value)
        for key, value in part.items()
        if key not in {"title", "default"}
    }


@answer
class Failure:
    """What went wrong."""

    exit_code: int
    """How the command ends: one of the codes of hotplace --help."""
    sentence: str
    next: str | None
    """What to do about it."""


@answer
class FailureAnswer:
    """The document of a command that fails before it has printed another."""

    error: Failure
