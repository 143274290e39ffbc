"""How an engine is found, what its accounts share, and how an optional part is installed.

``Inheritance`` says what the moving account takes over from the account that watches the same database: where the
database is, how its server is reached, and the limits of moves. Each account keeps its own login. A password is taken
over for the same user on the same server, and never otherwise.

``find_engine`` knows the built-in engines by name, and third-party engines by the entry-point group
``hotplace.connectors``. No other place knows which engines exist. It imports an engine's settings, never its driver.
``Engine.connect`` loads the driver, or raises ``DriverMissing`` with the command that installs it.

``install_command`` adds an optional part to the hotplace that runs. hotplace is on no package index, so its name alone
would fetch a stranger's package. The command names the folder, wheel or repository of this installation, which pip
recorded (``direct_url.json``, PEP 610), or else the packages of the part.
"""

from __future__ import annotations

import difflib
import importlib
import json
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import Distribution, PackageNotFoundError, distribution, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel

from connectors.kit.contract import Clock, Connector, UnknownEngine
from connectors.kit.settings import as_read_again
from connectors.model.moves import Client

if TYPE_CHECKING:
    from connectors.kit.assessment import FromFiles
    from connectors.kit.contract import Tap
    from connectors.kit.proving import Proof
    from connectors.kit.setting_up import SetUp


@dataclass(frozen=True, slots=True, kw_only=True)
class Inheritance:
    """Names of an engine's settings, by the condition under which ``move_connection`` takes them over."""

    # Alternative ways of saying where the database is, the server first in each. Within the way that move_connection
    # uses, what it does not name is taken over; all of it where it uses none.
    place: tuple[tuple[str, ...], ...] = ()
    server: tuple[str, ...] = ()  # how the server is reached, its encryption above all: while the server is the same
    login: tuple[str, ...] = ()  # secrets: while server and user are the same
    # What belongs to the one account and is never taken over, or has to be said by both. All that is in no group is: a
    # limit for moves that stands under `connection` would else hold for what is planned, not for what is carried out.
    own: tuple[str, ...] = ("user",)

    def complete(self, moving: Mapping[str, Any], watching: BaseModel) -> dict[str, Any]:
        """The settings of the account that moves, with what it takes over.

        Args:
            moving: what the file names under ``move_connection``.
            watching: settings of the account that watches; only what was given in the file is taken over.
        """
        return {**_explicit_settings(watching, self._taken_over(moving, watching)), **moving}

    def _taken_over(self, moving: Mapping[str, Any], watching: BaseModel) -> Iterable[str]:
        used = [way for way in self.place if any(name in moving for name in way)] or self.place
        yield from (name for way in used for name in way)
        grouped = {*(name for way in self.place for name in way), *self.server, *self.login, *self.own}
        yield from (name for name in type(watching).model_fields if name not in grouped)
        if not all(_is_same(name, moving, watching) for name, *_ in self.place):
            return
        yield from self.server
        if moving.get("user") is not None and _is_same("user", moving, watching):
            yield from self.login


def _is_same(name: str, moving: Mapping[str, Any], watching: BaseModel) -> bool:
    """Whether the moving account has the watching one's value, named or not."""
    return name not in moving or moving[name] == getattr(watching, name)


def _explicit_settings(settings: BaseModel, names: Iterable[str]) -> dict[str, Any]:
    fields = type(settings).model_fields
    return {
        name: as_read_again(fields[name], getattr(settings, name))
        for name in names
        if name in settings.model_fields_set
    }


BUILT_IN = {
    "db2": "connectors.db2.engine:ENGINE",
    "oracle": "connectors.oracle.engine:ENGINE",
    "postgresql": "connectors.postgresql.engine:ENGINE",
    "simulated": "connectors.simulated.engine:ENGINE",
    "sqlserver": "connectors.sqlserver.engine:ENGINE",
}
ENTRY_POINT_GROUP = "hotplace.connectors"
MOUNTED = "once it is mounted: hotplace space create NAME --location FOLDER"


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """One engine as configuration and agent see it."""

    name: str
    title: str  # as a person writes it: "PostgreSQL"
    settings: type[BaseModel]  # validates the `connection:` part of a database in the configuration
    connect: Callable[[Any, Clock], Connector]  # (an instance of settings, the clock) -> connector
    sample_settings: str  # YAML lines with comments for `hotplace init --full`, not indented
    first_settings: tuple[str, ...] = ()  # those of them that the short form of `hotplace init` has; (): all
    must_agree: tuple[
        str, ...
    ] = ()  # settings that the watching and the moving account share, or they see other things
    inheritance: Inheritance = field(default_factory=Inheritance)  # what `move_connection` takes over from `connection`
    sample_spaces: tuple[str, str] = ("fast", "slow")  # names that the sample gives its two tiers, the fast one first
    prefetched_wait_share: float | None = None  # default of that policy; 0: measured waits hold what it stands for
    measures_waits: Callable[[Any], bool] = lambda _: True  # whether a database with these settings does
    estimated_waits: Callable[[Any], str] = lambda _: ""  # why waits of a unit are estimates; "": they are measured
    uncounted: Callable[[Any], str] = lambda _: ""  # why reads of its objects are never known; "": they are counted
    new_space: Callable[[Any], str] = lambda _: MOUNTED  # how new storage comes to be used, up to naming it in a tier
    work: str = "transactions"  # what ``DatabaseDemand.transactions`` counts, in the plural
    tapped: Callable[[Any, Clock, Tap], Connector] | None = None  # as ``connect``; None: it cannot be recorded
    client: Client = field(default_factory=Client)  # what a person runs files of its statements with
    by_hand: FromFiles | None = None  # how files tell of it without a connection; None: they do not
    proof: Proof | None = None  # what `hotplace lab prove` tries on it; None: nothing yet
    set_up: SetUp | None = None  # how `hotplace setup` makes its logins; None: it has none

    def prefetched_share(self, settings: object) -> float | None:
        """The default of ``policy.prefetched_wait_share`` for a database with these settings; None: the usual one."""
        return self.prefetched_wait_share if self.measures_waits(settings) else None


def engine_names() -> tuple[str, ...]:
    """Every engine that can be named in a configuration, sorted."""
    return tuple(sorted({*BUILT_IN, *(point.name for point in entry_points(group=ENTRY_POINT_GROUP))}))


def find_engine(name: str) -> Engine:
    """The engine of that name.

    Raises:
        UnknownEngine: none is registered under it; the message names the nearest one.
    """
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        return cast(Engine, getattr(importlib.import_module(module), attribute))
    for point in entry_points(group=ENTRY_POINT_GROUP, name=name):
        return cast(Engine, point.load())
    near = difflib.get_close_matches(name, engine_names(), n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise UnknownEngine(f"unknown engine {name!r}{hint}", advice=f"Known engines: {', '.join(engine_names())}.")


NAME = "hotplace"
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")


def install_command(extra: str, installed: Distribution | None = None) -> str:
    """The command line that adds an extra, for this environment's pip.

    Args:
        extra: a name of pyproject.toml's optional dependencies.
        installed: the distribution to add it to; None: the one that runs.
    """
    arguments = _arguments(extra, installed or _running())
    return " ".join([*_pip(), "install", *map(shlex.quote, arguments)])


def _running() -> Distribution | None:
    try:
        return distribution(NAME)
    except PackageNotFoundError:  # run from a checkout that was never installed
        return None


def _pip() -> list[str]:
    """This environment's pip, or another pip with this environment as its target."""
    own = Path(sys.prefix) / "bin" / "pip"
    if own.exists():
        return [shlex.quote(str(own))]
    if find_spec("pip"):
        return [shlex.quote(sys.executable), "-m", "pip"]
    return ["pip", "--python", shlex.quote(sys.executable)]


def _arguments(extra: str, installed: Distribution | None) -> list[str]:
    if installed is None:
        return ["--editable", f"{Path(__file__).resolve().parents[2]}[{extra}]"]
    return _origin(extra, json.loads(installed.read_text("direct_url.json") or "{}")) or _packages(extra, installed)


def _origin(extra: str, record: dict[str, dict[str, object]]) -> list[str]:
    """What it was installed from with the extra; nothing where that is not known or no longer there."""
    url = urlsplit(str(record.get("url", "")))
    if url.scheme == "file":
        path = Path(unquote(url.path))
        editable = ["--editable"] if record.get("dir_info", {}).get("editable") else []
        return [*editable, f"{path}[{extra}]"] if path.exists() else []
    if not url.scheme:
        return []
    system = record.get("vcs_info", {})
    kind, commit = (f"{system['vcs']}+", f"@{system['commit_id']}") if system else ("", "")
    return [f"{NAME}[{extra}] @ {kind}{url._replace(netloc=url.netloc.rpartition('@')[2]).geturl()}{commit}"]


def _packages(extra: str, installed: Distribution) -> list[str]:
    """The packages of the extra, as the distribution requires them."""
    parts = [(requirement, _EXTRA.search(requirement)) for requirement in installed.requires or []]
    return [requirement.partition(";")[0].strip() for requirement, found in parts if found and found[1] == extra]
