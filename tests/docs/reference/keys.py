"""Every configuration key: type, default, what the sample file says of it, and a sentence on when to change it."""

from __future__ import annotations

import inspect
import io
import re
import tokenize
import tomllib
from collections.abc import Iterator
from datetime import UTC
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from agent.config.models import Config
from agent.config.quantities import Bytes, BytesPerSecond, Days, Ratio, Seconds, Window, Zone
from agent.config.sample import sample
from connectors.kit.registry import engine_names, find_engine
from connectors.kit.settings import SecretSource
from policies.model.settings import Pin
from tests.docs.reference.blocks import table

QUANTITIES = {  # annotation -> (its word, unit of its default)
    Bytes: ("size", (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10), ("B", 1))),
    BytesPerSecond: ("size per second", (("GB/s", 1e9), ("MB/s", 1e6), ("B/s", 1))),
    Seconds: ("duration", (("d", 86400), ("h", 3600), ("min", 60), ("s", 1), ("ms", 1e-3), ("us", 1e-6))),
    Ratio: ("ratio", (("%", 0.01),)),
    Window: ("window", ()),
    Days: ("days", ()),
    Zone: ("time zone", ()),
}
OWN = {  # what reads badly outside the sample
    "password": "where the secret is; never the secret itself",
    "wallet_password": "of `ewallet.pem`; where the secret is, never the secret itself",
    "databases": "one entry for each database",
    "databases.connection": "the account that watches; see below, by engine",
    "databases.tiers.kind": "`nvme`, `ssd` or `hdd`; its usual speed holds until read times are measured",
    "databases.tiers.spaces": "names, or `{name: ..., capacity: ...}`; a folder or disk group stands for every space "
    "whose first file is in it; none: the tier is not there yet",
    "databases.pins": "pins that are part of the configuration; others are set with `hotplace pin`",
    "log.format": "lines for people, or one JSON document for each",
    "log.level": "the least severe message that is written",
}
ELSE = {  # what neither the sample nor the model says
    "metrics.enabled": "whether the endpoint is served",
    "metrics.listen": "address that it listens on",
    "metrics.port": "port that it listens on; 0: any free one",
    "metrics.basic_auth.user": "name that a scrape must give",
    "databases.engine": "`postgresql`, `db2`, `sqlserver`, `oracle` or `simulated`",
    "databases.sample_every": "time between two samples",
    "databases.plan_every": "time between two plans",
    "databases.tiers.name": "the word for it; `nvme`, `ssd` or `hdd` also says its kind",
    "databases.tiers.spaces.name": "a space as the engine names it",
    "databases.tiers.spaces.capacity": "never count on more room than this, used bytes included",
    "databases.pins.reason": "why, for the record",
    "port": "of the server",
    "host": "of the server",
    "connect_timeout": "of an attempt to connect",
    "sslmode": "as in libpq",
    "sslrootcert": "certificates of the authorities that are trusted",
    "security": "`SSL`: encrypted",
    "encrypt": "`strict` is TDS 8",
    "hostname_in_certificate": "name that the server's certificate must have, where it is not `host`",
    "multi_subnet_failover": "as the driver's MultiSubnetFailover",
    "sort_in_tempdb": "sort an index build in tempdb",
    "protocol": "`tcps`: TLS",
    "ssl_server_dn_match": "check the server's name against its certificate",
    "disks": "folder of each disk",
}
PLAIN = {str: "text", int: "whole number", float: "number", bool: "true or false", Path: "path"}
SOUGHT = re.compile(
    r"^(?P<indent> *)(?P<off># ?)?(?P<item> *(?:- )?)(?P<key>[a-z_]+):(?P<value>(?: [^#]*)?)(?:# (?P<said>.*))?$"
)


WHEN = tomllib.loads(Path(__file__).with_name("when_to_change.toml").read_text(encoding="utf-8"))
MEANING = tomllib.loads(Path(__file__).with_name("meaning.toml").read_text(encoding="utf-8"))


def when_to_change(section: str, key: str) -> str:
    """The sentence that says it.

    Args:
        section: dotted path in the file, "" the file itself; of a connection ``ENGINE.connection``.
        key: as it is written in the file.

    Raises:
        KeyError: there is none.
    """
    own = WHEN.get(section or "the file itself", {})
    shared = WHEN["connection"] if section.endswith(".connection") else {}
    return str(own[key] if key in own else shared[key])


def blocks() -> dict[str, str]:
    """One part with every section of the file, and one with the connection of each engine."""
    texts = described(sample("postgresql"))
    return {
        "keys": "\n\n".join(_section(path, model, texts) for path, model in sections(Config)),
        **{f"connection {engine}": _connection(engine) for engine in engine_names()},
    }


def sections(model: type[BaseModel], path: str = "") -> Iterator[tuple[str, type[BaseModel]]]:
    """Each model of the file with the dotted path of its section, outermost first."""
    yield path, model
    for name, field in model.model_fields.items():
        for inner in _models(field.annotation):
            if inner is not SecretSource and inner is not BaseModel:
                yield from sections(inner, ".".join(filter(None, (path, field.alias or name))))


def keys_of(model: type[BaseModel]) -> list[str]:
    """The keys of one section as they are written in the file."""
    return [field.alias or name for name, field in model.model_fields.items()]


def described(text: str) -> dict[str, str]:
    """Comment of each key of a sample by its dotted path; of alternatives that are commented out the value too."""
    found: dict[str, str] = {}
    above: list[tuple[int, str]] = []
    path = ""
    for line in text.splitlines():
        match = SOUGHT.match(line)
        if match is None:
            more = re.match(r"^ {8,}# (?P<said>\S.*)$|^# {8,}(?:# )?(?P<other>\S.*)$|^ *# {8,}(?P<third>\S.*)$", line)
            if more and path in found:
                found[path] += " " + next(filter(None, more.groups()))
            continue
        depth = len(match["indent"]) + len(match["item"])
        above = [(column, key) for column, key in above if column < depth]
        path = ".".join([*(key for _, key in above), match["key"]])
        above.append((depth, match["key"]))
        said, value = (match["said"] or "").strip(), match["value"].strip()
        if path in found and match["off"] and value:
            said = f"`{value}`" + (f": {said}" if said else "")
        if said:
            found[path] = f"{found[path].rstrip(':')}; {said}" if path in found else said
    return found


def _connection(engine: str) -> str:
    record = find_engine(engine)
    return _rows("", record.settings, described(record.sample_settings), f"{engine}.connection")


def _section(path: str, model: type[BaseModel], texts: dict[str, str]) -> str:
    heading = f"### `{path}:`" if path else "### The file itself"
    return f"{heading}\n\n{_rows(path, model, texts, path)}"


def _rows(path: str, model: type[BaseModel], texts: dict[str, str], section: str) -> str:
    hints, remarks = get_type_hints(model, include_extras=True), remarks_of(model)
    rows = []
    for name, field in model.model_fields.items():
        key = field.alias or name
        alone = MEANING.get(section or "the file itself", {}).get(key)
        text = alone or _said(".".join(filter(None, (path, key))), texts, remarks.get(name, ""))
        rows.append(
            (
                f"`{key}`",
                _kind(hints[name]) + _bounds(field),
                _default(field, hints[name]),
                text,
                when_to_change(section, key),
            )
        )
    return table(("key", "value", "default", "meaning", "when to change it"), rows)


def _said(key: str, texts: dict[str, str], remark: str) -> str:
    """What is said of a key: here, in the sample, or behind the field of the model."""
    own = OWN.get(key.rpartition(".")[2] if key.endswith("password") else key)
    return own or texts.get(key) or remark or ELSE.get(key, "")


def remarks_of(model: type[BaseModel]) -> dict[str, str]:
    """The comment behind each field in the source of a model; ``None`` is there what a file leaves out."""
    remarks: dict[str, str] = {}
    name = ""
    for token in tokenize.generate_tokens(io.StringIO(inspect.getsource(model)).readline):
        if token.type == tokenize.NAME and token.start[1] == 4 and token.string in model.model_fields:
            name = token.string
        elif token.type == tokenize.COMMENT and name and "noqa" not in token.string and token.start[1] > 4:
            text = token.string.lstrip("# ").replace("None:", "left out:").replace("True:", "true:")
            remarks.setdefault(name, text.replace("False:", "false:"))
        elif token.type == tokenize.NAME and token.start[1] == 4:
            name = ""
    return remarks


def _kind(annotation: Any) -> str:  # whatever stands in a model
    """The kind of value in words."""
    for known, (word, _) in QUANTITIES.items():
        if annotation == known:
            return word
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _annotated(inner)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(_kind(each) for each in inner if each is not NoneType))
    if origin is Literal:
        return ", ".join(f"`{each}`" for each in inner)
    if origin is tuple:
        return f"list of {_plural(_kind(inner[0]))}"
    if origin is dict:
        return "mapping of names to texts"
    return _plain(annotation)


def _annotated(inner: tuple[Any, ...]) -> str:
    if any(getattr(getattr(each, "func", None), "__name__", "") == "parse_duration" for each in inner[1:]):
        return "duration"
    return _kind(inner[0])


def _plain(annotation: Any) -> str:  # as above
    if annotation is SecretSource:
        return "`{env: NAME}`, `{file: PATH}` or `{credential: NAME}`"
    if annotation is Pin:
        return "`must`, `prefer`, `never`"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "section"
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return ", ".join(f"`{member.value}`" for member in annotation)
    return PLAIN.get(annotation, "text")


def _plural(word: str) -> str:
    return word if word in ("days", "mapping of names to texts") or word.startswith("`") else f"{word}s"


def _bounds(field: FieldInfo) -> str:
    """Limits of a number, such as `` (1 to 100)``."""
    least = next((each for each in field.metadata if isinstance(each, Ge | Gt)), None)
    most = next((each for each in field.metadata if isinstance(each, Le | Lt)), None)
    low = "" if least is None else f"from {least.ge}" if isinstance(least, Ge) else f"above {least.gt}"
    high = "" if most is None else f"to {most.le}" if isinstance(most, Le) else f"below {most.lt}"
    return f" ({' '.join(filter(None, (low, high)))})" if low or high else ""


def _default(field: FieldInfo, annotation: Any) -> str:  # as above
    value = field.get_default(call_default_factory=True) if not field.is_required() else PydanticUndefined
    if value is PydanticUndefined:
        return "required"
    if value is None or value in ("", (), {}) or isinstance(value, BaseModel):
        return ""
    return f"`{_written(value, annotation)}`"


def _written(value: Any, annotation: Any) -> str:  # as above
    """A default as one would write it in the file."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, tuple):
        return f"[{', '.join(_written(each, annotation) for each in value)}]"
    if value is UTC:
        return "UTC"
    units = _units(annotation)
    for unit, size in units:
        if value and round(value / size, 6) == int(round(value / size, 6)) and value >= size:
            return f"{value / size:.0f}{' ' if unit in ('GiB', 'MiB', 'KiB', 'B') or '/' in unit else ''}{unit}"
    return "0" if value == 0 else f"{value:g}" if isinstance(value, float) else str(value)


def _units(annotation: Any) -> tuple[tuple[str, float], ...]:  # as above
    for known, (_, units) in QUANTITIES.items():
        if annotation == known or known in get_args(annotation):
            return units
    return QUANTITIES[Seconds][1] if _kind(annotation) == "duration" else ()


def _models(annotation: object) -> Iterator[type[BaseModel]]:
    """Models within an annotation such as ``tuple[Model, ...] | None``."""
    if isinstance(annotation, type) and not get_args(annotation) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)
