"""A YAML text as plain values, together with the line that each path stands on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from agent.config.errors import ConfigError, Location, Problem, path_text

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
                [Problem("", found)], source=source, advice="`hotplace init` writes a commented file to start from."
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
