"""A real Prometheus that has scraped a day of a simulated site with moves."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.openmetrics.exposition import generate_latest

SERVER, TOOL = shutil.which("prometheus"), shutil.which("promtool")
TARGET = {"job": "hotplace", "instance": "db1:9477"}
STARTS_WITHIN_SECONDS = 30.0


@dataclass(slots=True)
class Scrapes:
    """Everything that was exposed, with the times at which it was."""

    families: dict[str, Metric] = field(default_factory=dict)
    last: float = 0.0

    def scrape(self, registry: CollectorRegistry, at: float) -> None:
        """Note what is exposed at that instant, with the labels of a target."""
        self._add(_up(), at)
        for metric in registry.collect():
            self._add(metric, at)
        self.last = at

    def _add(self, metric: Metric, at: float) -> None:
        family = self.families.setdefault(metric.name, Metric(metric.name, metric.documentation, metric.type))
        for sample in metric.samples:
            if not sample.name.endswith("_created"):
                family.add_sample(sample.name, {**sample.labels, **TARGET}, sample.value, at)

    def write(self, path: Path) -> None:
        """As OpenMetrics, series after series."""

        class Collector:
            def __init__(self, families: dict[str, Metric]) -> None:
                self._families = families

            def collect(self) -> Iterator[Metric]:
                yield from self._families.values()

        path.write_bytes(generate_latest(Collector(self.families)))  # type: ignore[no-untyped-call]  # of a library


def _up() -> Metric:
    """What Prometheus says of a target that answers."""
    up = Metric("up", "", "gauge")
    up.add_sample("up", {}, 1.0)
    return up


@dataclass(frozen=True, slots=True)
class Asked:
    """A Prometheus, and the last instant that it knows."""

    url: str
    now: float

    def range(self, query: str, seconds: float = 3600.0, step: float = 60.0) -> list[dict[str, Any]]:
        """The series of a query, up to the last instant."""
        fields = {"query": query, "start": self.now - seconds, "end": self.now, "step": step}
        asked = f"{self.url}/api/v1/query_range?{urllib.parse.urlencode(fields)}"
        with urllib.request.urlopen(asked, timeout=30) as answer:
            document = json.loads(answer.read())
        assert document["status"] == "success", document
        found: list[dict[str, Any]] = document["data"]["result"]
        return found


@contextmanager
def running(scrapes: Scrapes, folder: Path) -> Iterator[Asked]:
    """A server whose store holds the scrapes."""
    assert SERVER is not None
    assert TOOL is not None
    scrapes.write(folder / "scrapes.txt")
    load = [TOOL, "tsdb", "create-blocks-from", "openmetrics", str(folder / "scrapes.txt"), str(folder / "data")]
    done = subprocess.run(load, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (folder / "prometheus.yml").write_text("scrape_configs: []\n")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"127.0.0.1:{probe.getsockname()[1]}"
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [SERVER, f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}",
             "--storage.tsdb.retention.time=100y", f"--web.listen-address={url}"],
            stdout=log, stderr=log,
        )  # fmt: skip
    try:
        _wait_until(lambda: _ready(url), folder / "log")
        yield Asked(f"http://{url}", scrapes.last)
    finally:
        process.terminate()
        process.wait(timeout=30)


def _ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://{url}/-/ready", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _wait_until(happens: Callable[[], bool], log: Path) -> None:
    deadline = time.monotonic() + STARTS_WITHIN_SECONDS
    while not happens():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)
