"""Frozen dataclasses as JSON and back, for documents that are stored and hashed.

What pydantic's ``TypeAdapter`` does, by the same library underneath: it would take longer to get ready for a proposal
than most commands take to read the ledger, since it looks in each class for all that a class may ask of pydantic. These
ask for nothing. ``property/test_stored_proposals`` holds both to the same answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cached_property
from types import NoneType, UnionType
from typing import Any, Final, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic_core import SchemaSerializer, SchemaValidator, core_schema

_T = TypeVar("_T")
_PLAIN: Final[Mapping[Any, Callable[[], core_schema.CoreSchema]]] = {
    str: core_schema.str_schema, bool: core_schema.bool_schema, int: core_schema.int_schema,
    float: core_schema.float_schema, datetime: core_schema.datetime_schema,
}  # fmt: skip


class StoredDataclass(Generic[_T]):
    """How one class of document, and what is in it, becomes JSON and back."""

    def __init__(self, document: type[_T]) -> None:
        self._document = document

    @cached_property
    def _schema(self) -> core_schema.CoreSchema:
        return _dataclass_schema(self._document)

    @cached_property
    def _validator(self) -> SchemaValidator:
        return SchemaValidator(self._schema)

    @cached_property
    def _serializer(self) -> SchemaSerializer:
        return SchemaSerializer(self._schema)

    def plain(self, document: _T) -> dict[str, Any]:
        """The document as values that JSON has."""
        values: dict[str, Any] = self._serializer.to_python(document, mode="json")
        return values

    def of_text(self, text: str) -> _T:
        """Read a document. Fields that the class lacks are left out, those that the text lacks have their default.

        Raises:
            ValueError: the text is not such a document.
        """
        document: _T = self._validator.validate_json(text)
        return document


def _dataclass_schema(of: type[Any]) -> core_schema.CoreSchema:
    hints, own = get_type_hints(of), fields(of)
    arguments = core_schema.dataclass_args_schema(
        of.__name__,
        [core_schema.dataclass_field(each.name, _field_schema(each, hints[each.name])) for each in own],
        collect_init_only=hasattr(of, "__post_init__"),
    )
    return core_schema.dataclass_schema(
        of, arguments, [each.name for each in own], slots=True, post_init=hasattr(of, "__post_init__")
    )


def _field_schema(field: Field[Any], hint: Any) -> core_schema.CoreSchema:  # noqa: ANN401  # whatever a field may hold
    schema = _schema_of(hint)
    if field.default is not MISSING:
        return core_schema.with_default_schema(schema, default=field.default)
    if field.default_factory is not MISSING:
        return core_schema.with_default_schema(schema, default_factory=field.default_factory)
    return schema


def _schema_of(hint: Any) -> core_schema.CoreSchema:  # noqa: ANN401  # as above
    """The schema of a type that a field may have.

    Raises:
        TypeError: documents have no such fields.
    """
    if hint in _PLAIN:
        return _PLAIN[hint]()
    if is_dataclass(hint) and isinstance(hint, type):
        return _dataclass_schema(hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return core_schema.enum_schema(hint, list(hint), sub_type=_sub_type(hint))
    match get_origin(hint), get_args(hint):
        case (origin, arguments) if origin in (UnionType, Union):
            return _union_schema(arguments)
        case (origin, (each, rest)) if origin is tuple and rest is Ellipsis:
            return core_schema.tuple_variable_schema(_schema_of(each))
        case (origin, (key, value)) if origin is Mapping:
            return core_schema.dict_schema(_schema_of(key), _schema_of(value))
    raise TypeError(f"a stored document cannot have a field of type {hint}")


def _union_schema(arguments: tuple[Any, ...]) -> core_schema.CoreSchema:
    present = [_schema_of(each) for each in arguments if each is not NoneType]
    schema = present[0] if len(present) == 1 else core_schema.union_schema(list(present))
    return core_schema.nullable_schema(schema) if NoneType in arguments else schema


def _sub_type(enumeration: type[Enum]) -> Literal["str", "int"] | None:
    if issubclass(enumeration, str):
        return "str"
    return "int" if issubclass(enumeration, int) else None
