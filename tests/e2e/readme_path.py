"""README's commands, letter by letter, as a user of the system who may ``sudo`` to ``postgres``: to a plan, and a move.

``python -m tests.e2e.readme_path --port 5432`` runs as root, on this machine or with ``--root TREE`` in a bare
Debian 12 (debootstrap, with python3-venv, postgresql-15 and sudo). It makes a stock cluster with a database ``app``
whose table is read through a small buffer pool, makes the user, and then types what README says. Times are lowered
for the second half only: by keys below the configuration that ``hotplace setup`` has written.

Both tablespaces are on one device here, which is told to be two. So the outcome, which measures, can find no help:
`cannot tell`, with its interval, is the right answer. `make demo` slows one of two disks down and shows a verdict.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
USER, HOME = "reader", "/home/reader"
MOST_SECONDS = 240.0  # of processor time and watching, from the first command to the first plan
WATCHED_SECONDS = 60.0
BEFORE_SECONDS = 30.0  # a reader approves after half an hour; an outcome wants six samples before the moves
LOWERED = """\
    sample_every: 2s
    plan_every: 10s
    settle: 20s
    maximum_stall: 10min
    policy: {minimum_history: 5s, regret: 0, cool_down: 0s, minimum_gain: 0s, certainty: 50%}
"""
SSD = "{name: ssd, kind: ssd, "  # one device serves both tablespaces here: a faster one is configured
SCHEMA = """\
CREATE ROLE app_owner;
CREATE DATABASE app OWNER app_owner;
"""
TABLE = """\
SET ROLE app_owner;
CREATE TABLE orders (id int PRIMARY KEY, filler text);
INSERT INTO orders SELECT g, repeat(md5(g::text), 12) FROM generate_series(1, 200000) AS g;
CREATE TABLE archive AS SELECT * FROM orders;
RESET ROLE;
VACUUM ANALYZE;
"""
LOAD = "\\set id random(1, 200000)\nSELECT filler FROM orders WHERE id = :id;\n"


def say(text: str) -> None:
    """To whoever runs this."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class Machine:
    """Where the commands run."""

    def __init__(self, root: Path | None) -> None:
        self._inside = [] if root is None else ["chroot", str(root)]
        self.files = Path("/") if root is None else root
        self.wall, self.processor = 0.0, 0.0  # seconds in commands of the reader

    def as_root(self, command: str, text: str = "") -> str:
        """A command's output; it has to end well."""
        done = subprocess.run(
            [*self._inside, "sh", "-ec", command], input=text, text=True, capture_output=True, timeout=900, check=False
        )
        assert done.returncode == 0, (command, done.stdout[-2000:], done.stderr[-2000:])
        return done.stdout

    def types(self, command: str, answer: str = "") -> str:
        """The same as the reader, in the checkout and on a terminal if there is an answer to give."""
        words = f"cd {HOME}/hotplace; export PATH={HOME}/hotplace-venv/bin:$PATH; {command}"
        if answer:
            words = f"printf '{answer}\\n' | script -qec {shlex.quote(words)} /dev/null"
        began, times = time.monotonic(), os.times()
        say(f"$ {command}")
        said = self.as_root(
            f"runuser -u {USER} -- env -i HOME={HOME} PATH=$PATH LANG=C.UTF-8 sh -ec {shlex.quote(words)}"
        )
        seconds, after = time.monotonic() - began, os.times()
        self.wall += seconds
        self.processor += after.children_user + after.children_system - times.children_user - times.children_system
        say(f"{said}({seconds:.1f} s)")
        return said

    def begins(self, command: str) -> subprocess.Popen[str]:
        """Let the reader's command run on."""
        words = f"cd {HOME}/hotplace; export PATH={HOME}/hotplace-venv/bin:$PATH; exec {command}"
        return subprocess.Popen([*self._inside, "runuser", "-u", USER, "--", "sh", "-ec", words], text=True)


def commands_of(heading: str) -> list[str]:
    """The commands that README shows below a heading, without their comments."""
    section = re.split(r"^## ", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    (text,) = (each for each in section if each.startswith(heading))
    return [line.split("  #")[0].strip() for line in text.splitlines() if line.startswith("    ")]


@contextmanager
def cluster(machine: Machine, port: int) -> Iterator[None]:
    """A stock cluster of Debian with the application and its load; gone at the end."""
    machine.as_root(f"pg_createcluster 15 reader -p {port} && pg_ctlcluster 15 reader start")
    psql = f"cd /; runuser -u postgres -- psql -X -q -v ON_ERROR_STOP=1 -p {port}"
    try:
        machine.as_root("install -d -o postgres -m 700 /var/lib/postgresql/reader-ssd")
        machine.as_root(psql, SCHEMA + "CREATE TABLESPACE ssd LOCATION '/var/lib/postgresql/reader-ssd';\n")
        machine.as_root(psql, "ALTER SYSTEM SET shared_buffers = '8MB';")
        machine.as_root("pg_ctlcluster 15 reader restart")
        machine.as_root(f"{psql} -d app", TABLE)
        (machine.files / "tmp/reader-load.sql").write_text(LOAD)
        pgbench = f"/usr/lib/postgresql/15/bin/pgbench -n -c 2 -R 400 -T 3600 -f /tmp/reader-load.sql -p {port} app"
        load = subprocess.Popen(
            [*machine._inside, "sh", "-c", f"cd /; exec runuser -u postgres -- {pgbench}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            yield
        finally:
            load.terminate()
            load.wait()
    finally:
        machine.as_root("pg_dropcluster 15 reader --stop; rm -rf /var/lib/postgresql/reader-ssd /tmp/reader-load.sql")


@contextmanager
def reader(machine: Machine) -> Iterator[None]:
    """An arbitrary user with the checkout, who may sudo to postgres; gone at the end."""
    machine.as_root(f"useradd -m {USER} && echo '{USER} ALL=(postgres) NOPASSWD: ALL' > /etc/sudoers.d/{USER}")
    try:
        archive = subprocess.run(["git", "-C", str(ROOT), "archive", "HEAD"], capture_output=True, check=True).stdout
        (machine.files / "tmp/reader.tar").write_bytes(archive)
        as_reader = f"runuser -u {USER} --"
        machine.as_root(f"{as_reader} mkdir {HOME}/hotplace && {as_reader} tar -xf /tmp/reader.tar -C {HOME}/hotplace")
        yield
    finally:
        machine.as_root(f"rm -f /tmp/reader.tar /etc/sudoers.d/{USER}; userdel -r {USER} 2>&1 || true")


def until(machine: Machine, command: str, there: str, seconds: float = 300.0) -> str:
    """Type a command until its answer has something."""
    end = time.monotonic() + seconds
    while there not in (said := machine.types(command)):
        assert time.monotonic() < end, f"{command} never said {there!r}"
        time.sleep(3)
    return said


def walk(machine: Machine, port: int) -> None:
    """README from `Install` to an outcome."""
    at = "" if port == 5432 else f" --port {port}"
    venv, _ = commands_of("Install")
    set_up, observe, with_sql = commands_of("The first plan")
    machine.types(venv)
    said = machine.types(set_up + at)
    assert "ready: hotplace run" in said
    observed = machine.types(observe)
    assert "public.orders" in observed
    assert "Both may be on one device" in observed
    took = f"{machine.processor:.0f} s of processor time, {machine.wall:.0f} s in all"
    say(f"the first plan: {took}")
    assert machine.processor + WATCHED_SECONDS < MOST_SECONDS, took
    machine.types(with_sql)
    both, dry_run, run, proposals, approve, outcomes, undo = commands_of("Letting it move")
    remedy = "ALTER SYSTEM SET track_io_timing = on; SELECT pg_reload_conf();"
    assert remedy in said
    machine.as_root(f"cd /; runuser -u postgres -- psql -X -q -p {port}", remedy.replace("; ", ";\n"))
    assert "ready: hotplace run" in machine.types(both + at)
    machine.types(dry_run)
    configuration = machine.files / HOME.lstrip("/") / "hotplace/hotplace.yaml"
    lowered = configuration.read_text().replace(SSD, f"{SSD}random_read: 1us, ") + LOWERED
    configuration.write_text(lowered)
    daemon = machine.begins(run)
    try:
        until(machine, proposals, "proposed")
        time.sleep(BEFORE_SECONDS)
        assert "is approved by reader" in machine.types(approve, answer="y")
        until(machine, "hotplace history", "kept", seconds=600.0)
        measured = machine.types(outcomes)
        assert "for the same work" in measured, "enough was seen to measure the moves"
        machine.types(undo)
    finally:
        daemon.terminate()
        daemon.wait(60)
    say("README's path was walked to its end")


def main(arguments: Sequence[str]) -> None:
    """Walk it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, help="a bare Debian 12; without it this machine")
    parser.add_argument("--port", type=int, default=5432, help="another port is added to the commands")
    given = parser.parse_args(arguments)
    machine = Machine(given.root)
    with cluster(machine, given.port), reader(machine):
        walk(machine, given.port)


if __name__ == "__main__":
    main(sys.argv[1:])
