"""A YAML text as plain values with their lines, and what is wrong with it in sentences.

A YAML text as plain values, together with the line that each path stands on.

From pydantic's errors to sentences a person can act on.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from agent.config.errors import ConfigError, Location, Problem, SettingsInvalid, path_text, printable

LARGEST_CHARACTERS = 1_000_000  # a configuration is a page or two; beyond this it is some other file
MOST_VALUES = 100_000  # counted with every use of an anchor: a few lines of nested anchors can stand for billions
DEEPEST = 50


@dataclass(frozen=True, slots=True)
class Document:
    """What a file says, and where."""

    values: dict[Any, Any]
    root: yaml.MappingNode

    def line(self, location: Location) -> int:
        """Line, from 1, of that path or of the nearest part above it that exists."""
        return self._descend(location)[0]

    def existing(self, location: Location) -> Location:
        """The longest beginning of the path that the file really has."""
        return location[: self._descend(location)[1]]

    def _descend(self, location: Location) -> tuple[int, int]:
        """Line and depth reached."""
        node: yaml.Node = self.root
        line = self.root.start_mark.line
        for depth, part in enumerate(location):
            found = _child(node, part)
            if found is None:
                return line + 1, depth
            line, node = found
        return line + 1, len(location)


def read_document(text: str, source: str) -> Document:
    """Parse a text.

    Raises:
        ConfigError: it is no YAML, no mapping, far too large, or repeats a key. No line of the text is quoted, since
            it might hold a secret.
    """
    if len(text) > LARGEST_CHARACTERS:
        raise ConfigError([Problem("", f"has {len(text):,} characters, which no configuration needs")], source=source)
    try:
        loader = yaml.SafeLoader(text)
        # Nodes first and values from them: nodes carry the lines that mistakes are reported with, and a repeated key or
        # a nest of anchors is found before anything is expanded.
        root = loader.get_single_node()
        if not isinstance(root, yaml.MappingNode):
            found = "is empty" if root is None else "is not a mapping of keys"
            raise ConfigError(
                [Problem("", found)], source=source, advice="`hotplace init` writes a file to start from."
            )
        repeated = [problem for location, node in _nodes(root, source) for problem in _repeated_keys(node, location)]
        if repeated:
            raise ConfigError(repeated, source=source)
        return Document(loader.construct_document(root), root)
    except yaml.MarkedYAMLError as error:
        # Without its cause: PyYAML's own message quotes the line, which may hold a password.
        raise ConfigError([_syntax_problem(error)], source=source) from None
    except (yaml.YAMLError, ValueError, TypeError) as error:  # a forbidden character, a date that is none
        raise ConfigError([Problem("", f"is not YAML: {type(error).__name__}")], source=source) from None
    except RecursionError:
        raise ConfigError([Problem("", "is nested too deeply")], source=source) from None


def _syntax_problem(error: yaml.MarkedYAMLError) -> Problem:
    mark = error.problem_mark or error.context_mark
    column = f" (column {mark.column + 1})" if mark else ""
    return Problem("", f"is not YAML: {error.problem or error.context}{column}", mark.line + 1 if mark else None)


def _child(node: yaml.Node, part: str | int) -> tuple[int, yaml.Node] | None:
    """Line (from 0) and node of one key or position; the last of a key, as YAML itself decides."""
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part].start_mark.line, node.value[part]
    if isinstance(node, yaml.MappingNode):
        for key, value in reversed(node.value):
            if key.value == str(part):
                return key.start_mark.line, value
    return None


def _nodes(root: yaml.Node, source: str) -> Iterator[tuple[Location, yaml.Node]]:
    """Every node with its path, once for each place it stands at.

    Raises:
        ConfigError: there are too many, or too deep: an anchor that holds itself is both.
    """
    waiting: list[tuple[Location, yaml.Node]] = [((), root)]
    count = 0
    while waiting:
        location, node = waiting.pop()
        count += 1
        if count > MOST_VALUES or len(location) > DEEPEST:
            excess = f"holds more than {MOST_VALUES:,} values or {DEEPEST} levels, counting every use of an anchor"
            raise ConfigError([Problem("", excess)], source=source)
        yield location, node
        if isinstance(node, yaml.MappingNode):
            waiting += [((*location, str(key.value)), value) for key, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            waiting += [((*location, position), item) for position, item in enumerate(node.value)]


def _repeated_keys(node: yaml.Node, location: Location) -> Iterator[Problem]:
    """Keys written twice in one mapping: YAML would silently keep the last."""
    if not isinstance(node, yaml.MappingNode):
        return
    keys: set[str] = set()
    for key, _ in node.value:
        name = str(key.value)
        if name in keys:
            yield Problem(path_text((*location, name)), "is written twice", key.start_mark.line + 1)
        keys.add(name)


GONE = {  # keys of earlier versions, with what holds in their place
    "io_head_room": "plans use four fifths of a tier's iops; give fewer iops for more head-room",
    "prefer_bonus": "a unit pinned with prefer counts one and a half times",
    "maximum_copy": "give window_copy_time, which holds for a day where there are no windows",
    "minimum_size": "units below 64 KiB with little gain are reported as kept by the buffer pool",
    "split_lock_limit": "maximum_stall of the database limits how long any move may keep sessions out",
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
    if belongs := _home_of(str(location[-1]), model):
        return f"unknown key {location[-1]!r} here; it belongs below {belongs}"
    holder = _model_at(model, location[:-1])
    hint = nearest(str(location[-1]), keys_of(holder), kind="known here are") if holder else ""
    return f"unknown key {location[-1]!r}; {hint}" if hint else f"unknown key {location[-1]!r}"


def _home_of(key: str, model: type[BaseModel]) -> str:
    """Where else a key of just that name is known, as a path; "": nowhere, or in more than one place."""
    found = [".".join(path) for path, each in _models(model, ()) if key in keys_of(each)]
    return found[0] if len(found) == 1 and found[0] else ""


def _models(model: type[BaseModel], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], type[BaseModel]]]:
    """A model and all within it, each with the keys that lead to it."""
    yield path, model
    for name, field in model.model_fields.items():
        inner = _model_in(field.annotation)
        if inner is not None:
            yield from _models(inner, (*path, field.alias or name))


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
