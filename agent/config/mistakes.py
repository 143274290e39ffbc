"""From pydantic's errors to sentences a person can act on."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from agent.config.errors import Location, SettingsInvalid, printable

GONE = {  # keys of earlier versions, with what holds in their place
    "io_head_room": "plans use four fifths of a tier's iops; give fewer iops for more head-room",
    "prefer_bonus": "a unit pinned with prefer counts one and a half times",
    "maximum_copy": "give window_copy_time, which holds for a day where there are no windows",
    "minimum_size": "units below 64 KiB with little gain are reported as kept by the buffer pool",
    "awr_days": "the history of a week is shown",
}
Mistake = tuple[Location, str, bool]  # where, what, and whether the last part of the location is absent from the file


def mistakes_of(error: ValidationError, model: type[BaseModel], above: Location = ()) -> Iterator[Mistake]:
    """Every mistake of a failed validation, those of an engine's settings included."""
    for item in error.errors(include_url=False):
        nested = item.get("ctx", {}).get("error")
        if isinstance(nested, SettingsInvalid) and isinstance(nested.error, ValidationError):
            yield from mistakes_of(nested.error, nested.model, above + item["loc"])
        elif item["type"] != "too_short" or not item["input"]:  # entries that failed leave a list too short as well
            yield above + item["loc"], _sentence(item, model), item["type"] == "missing"


def nearest(word: str, words: Iterable[str], *, kind: str = "there are") -> str:
    """A hint: the nearest right word, or all of them where none is near."""
    known = sorted(words)
    near = difflib.get_close_matches(word, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"{kind} {', '.join(known) or 'none'}"


def keys_of(model: type[BaseModel]) -> list[str]:
    """The keys of a model as they are written in the file."""
    return [field.alias or name for name, field in model.model_fields.items()]


def _sentence(item: Mapping[str, Any], model: type[BaseModel]) -> str:
    """One mistake in words. The value of an unknown key is not shown: it might be a secret."""
    kind, location = item["type"], item["loc"]
    if kind == "extra_forbidden":
        return _unknown_key(location, model)
    if kind == "missing":
        return "is missing"
    if kind == "value_error":
        return str(item["ctx"]["error"])
    if kind == "too_short":
        return "is empty; it needs at least one entry"
    if kind in {"model_type", "model_attributes_type", "dict_type"}:
        return f"should be a mapping of keys, not {printable(item['input'])}"
    wanted = str(item["msg"]).replace("Input should be", "should be").replace("tuple", "list")
    return f"{wanted}, not {printable(item['input'])}"


def _unknown_key(location: Location, model: type[BaseModel]) -> str:
    if location[-1] in GONE:
        return f"{location[-1]!r} is no key any more, remove it: {GONE[location[-1]]}"
    holder = _model_at(model, location[:-1])
    hint = nearest(str(location[-1]), keys_of(holder), kind="known here are") if holder else ""
    return f"unknown key {location[-1]!r}; {hint}" if hint else f"unknown key {location[-1]!r}"


def _model_at(model: type[BaseModel], location: Location) -> type[BaseModel] | None:
    """The model that a location below ``model`` speaks of; None where the walk leaves the models."""
    here: type[BaseModel] | None = model
    for part in location:
        if isinstance(part, int) or here is None:
            continue
        annotations = [field.annotation for name, field in here.model_fields.items() if (field.alias or name) == part]
        here = _model_in(annotations[0]) if annotations else None
    return here


def _model_in(annotation: object) -> type[BaseModel] | None:
    """The first model within an annotation like ``tuple[Annotated[Model, ...], ...] | None``."""
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation if issubclass(annotation, BaseModel) else None
    return next((found for inner in get_args(annotation) if (found := _model_in(inner))), None)
