"""Configurations that ``hotplace init`` and ``hotplace setup`` write, short or with every key; valid as they are."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import yaml

from connectors.kit.registry import find_engine

INDENT = " " * 6  # of the keys below `connection:`

TEMPLATE = """\
# hotplace configuration. `hotplace doctor` checks it against the database; unknown keys are refused.
# Durations carry a unit (200us, 60s, 15min, 1h, 14d), sizes too (200 GiB, 500 GB), ratios are 10% or 0.1.

level: propose        # observe: watch and rank only. propose: also store proposals and run those a person approved.
                      # auto: also approve what a standing rule covers that a person has signed (hotplace rules)
dry_run: true         # what acts only prints its statements; set false to let approved moves run

# approval: signed    # a person signs each proposal with an SSH key; plain (default): who may run `hotplace approve`
# allowed_signers: /etc/hotplace/allowed_signers   # people and public keys, see ssh-keygen(1); belongs to root
# approvals: 2        # people who must sign, each with a key of his own and none the proposer

ledger:               # the durable record of proposals, approvals and moves
  path: hotplace.db   # relative to this file's folder; a service uses /var/lib/hotplace/ledger.db
  history: 14d        # how long heat history is kept
  # anchors: FILE     # where the ends of its audit chain are noted; without it next to it (hotplace.db.anchors)
  # postgresql:       # in place of path: one ledger for several agents; needs anchors
  #   host: ledger.example.com   # or the folder of a unix socket
  #   port: 5432          # where it listens
  #   dbname: hotplace    # a database of the site's
  #   user: hotplace      # login
  #   password: {{file: /etc/hotplace/ledger-password}}   # or {{env: VARIABLE}}, or {{credential: NAME}} of systemd
  #   schema: hotplace    # made where the user may
  #   sslmode: verify-full     # as libpq takes it
  #   sslrootcert: ca.pem      # PEM; who signed the server's certificate
  #   connect_timeout: 10s     # for the login
  #   lease: 30s               # without a word of the agent that acts on a database, until another one may

metrics:              # a live page at /, /metrics, /healthz, /readyz; /api/v1 behind a password
  enabled: true
  listen: 127.0.0.1
  port: 9477
  # tls:              # https; without it the password is sent unencrypted
  #   certificate: tls.pem     # PEM, the chain; read again when it changes
  #   key: tls.key             # PEM; without it in the same file
  #   client_ca: clients.pem   # PEM; only clients with a certificate of it may scrape
  # basic_auth:       # required for everything but /healthz
  #   user: prometheus
  #   password: {{file: /etc/hotplace/metrics-password}}   # or {{env: VARIABLE}}, or {{credential: NAME}} of systemd
  # hosts: [db1.example]   # names under which it answers without a password, besides loopback and its own address
  top_units: 100      # units with series of their own; the rest is one sum

log:                  # on standard error
  format: console     # console or json
  level: info         # debug, info, warning, error

# pools:              # budgets of fast storage that databases share: hotplace sizing --all
#   - name: array1
#     budget: 2 TiB                    # that their objects may fill; head-room comes on top
#     databases: [crm, "shop-*"]       # of the ledger, those of other machines too

# notices:            # channels that notify people; try them: hotplace notify test
#   - name: dba-chat  # in the log and in commands
#     events: [proposal, expiring, failed, hurt, rule, stalled, filling]   # what it reports; without it all
#     every: 60s      # between two messages at least; what came meanwhile is one message
#     webhook:        # an HTTP POST
#       url: {{file: /etc/hotplace/chat-url}}   # a secret: who has it can write to the channel
#       format: slack       # json, slack or teams
#       signing_key: {{file: /etc/hotplace/notice-key}}   # for an HMAC in the headers, see the page on notices
#   - name: on-call
#     mail:           # over SMTP
#       host: smtp.example.com   # the mail server
#       port: 587           # where it listens
#       encryption: starttls     # starttls, tls or none
#       user: hotplace      # login, with a password
#       password: {{file: /etc/hotplace/mail-password}}   # never sent unencrypted
#       from: hotplace@example.com   # sender
#       to: [dba@example.com]    # recipients
#   - name: pager
#     command: [/usr/local/bin/page]   # a program with its arguments; it gets JSON on its input

databases:
  - name: main        # its name in commands, metrics and the ledger
    engine: {engine}
    connection:       # {title}: the account that watches
{connection}
    # move_connection:   # the account that moves; without it connection serves both
    #   user: hotplace_move   # server and database are those of connection where they are not named here, and so is how
    #   password: {{file: /etc/hotplace/move-password}}   # the server is reached; a password only for the same user

    tiers:            # classes of storage, fastest first
      - name: ssd
        spaces: [{fast}]
        # spaces: [{{name: {fast}, capacity: 200 GiB}}]   # upper limit of the space, used bytes included
        # spaces: [/ssd]   # a folder or disk group (+FAST): every space whose first file is in it
        # spaces: []       # this storage is not there yet: hotplace sizing says what it would save
        # size: 500 GiB    # that it is to have, as long as it has no space
        kind: ssd     # nvme, ssd or hdd; typical speeds apply until read times are measured. Or give figures:
        # random_read: 0.2ms       # one random block read, as a session sees it
        # sequential_read: 16us    # per block within a run
        # write: 0.1ms             # one block write
        # read_ahead: 1 MiB        # that a copy reads in one request between other readers
        # disks: 24                # that its spaces are striped over; left out: learned from latencies
        # servers: 24              # in place of disks, for a volume: requests served at a time from one queue
        # iops: 40000              # I/Os per second of all its drives together; plans use four fifths
        # throughput: 500 MB       # bytes per second of its volume or controller, reads and writes
        # raid: 5                  # 1, 5 or 6: a write is 2, 4 or 6 drive I/Os
        # written_per_day: 500 GB  # endurance budget: own writes and promotions
        # price: 2.5               # per GiB and year
        # io_price: 0.1            # per I/O a second, and year
      - name: hdd
        spaces: [{slow}]
        kind: hdd

    sample_every: 60s
    plan_every: 1h
    settle: 15min           # caches warm up before the outcome of a move is measured
    proposal_expires: 24h   # a proposal cannot be approved after this time
    retries: 5              # of a step that failed and changed nothing; waiting for a lock does not count

    maximum_stall: 5s       # that a move may keep sessions out, by the upper end of what is predicted; for one that
                            # may do so for longer, approve has to name the time: --stall
    statements: ids         # whether outcomes name what became slower: none, ids, or texts (kept without literals)
    # read_time_limit: 20ms   # no move begins, or goes on where it can be held, while sessions' reads take longer
    # read_time_abort: 100ms  # on average; above this one a statement that runs is cancelled, and tried again later

    by_hand: false          # true: people carry every move out, by one file for each plan, and hotplace sends nothing
    windows: []             # when moves may run; none: always. A window belongs to the day on which it begins:
    # windows: ["mon-fri 22:00-05:00", "sat 00:00-24:00"]
    time_zone: UTC          # of all windows and of seasons, for example Europe/Berlin
    excluded_days: []       # no move runs on them: ["2026-12-24..2027-01-03", "12-31"]; without a year, every year
    # window_bytes: 500 GB  # moved in one window at most (without windows: in a day)
    # window_copy_time: 3h  # of copying in one window at most
    copy_safety: 1.5        # predicted copy times are multiplied by this to decide whether a move fits its window

    block_looks: 0.05%      # of the time of one server session, for looks into large hot tables; 0%: none
    border_values: false    # true reads user data: the least and greatest value of a column at borders of block ranges,
                            # to say by which values the hot part of a large table can be split off, and to plan that

    measured: []            # hours whose demand counts; none: all, else for example ["mon-fri 07:00-19:00"]
    not_measured: []        # days whose demand does not count, written like excluded_days

    policy:                      # every number that shapes a decision; these are the defaults
      half_life: 6h              # of what recent work and the speeds of tiers are averages over; heat chooses its own
      minimum_history: 30min     # a unit watched for less is not moved
      head_room: 10%             # of a space's capacity, never filled
      minimum_gain: 1s           # moves that save less wait per hour are not proposed
      payback: 24h               # a move must earn its own cost back within this time
      horizon: 24h               # gains count for at most this long against copying there and back
      resident_bonus: 1.05       # a unit on the fast tier counts this much more against one that wants its room
      # turnover: 0.3            # budget for wear: share of the fast tier that may be swapped out in a week
      cool_down: 24h             # what moved stays so long, or until it paid for both copies; what failed rests too
      copy_rate: 50 MB/s         # of a copy as the server can process it, log included, on top of its devices' time
      log_rate: 50 MB/s          # of the transaction log's device, unless a higher rate was observed
      prefetched_wait_share: {prefetched} # share of a prefetched read's time that sessions wait for
      write_wait_share: 0%       # the same for writes in the background
      maximum_moves: 50          # in one plan
      # maximum_bytes: 200 GB    # that one plan copies, both ways together
      long_half_life: 24h        # of how demand varies, and of the heat of units that hardly matter
      certainty: 90%             # of outcomes lie within a prediction's interval; moves are decided on its lower end
      slow_down: 100%            # initial estimate: share of disk-bound work that stops during a copy
      regret: 1                  # a newly hot unit moves once its waits have cost this many times the move; 0: at once
      # ram_price: 30            # of memory per GiB and year: to point out where a larger buffer pool is cheaper
      block_size: 8 KiB          # of one read or write, for budgets in bytes

    pins: []                     # placements that override heat, for example:
    # pins:
    #   - unit: 'public.orders*'   # key of a unit as `hotplace units` prints it; * and ? as in file names
    #     pin: must                # must: on the fastest tier. prefer: counts more. never: not on the fastest tier
    #     reason: month-end report
"""


def sample(engine: str) -> str:
    """A complete, commented configuration for one database of that engine.

    Raises:
        UnknownEngine: there is no such engine; the message names the nearest.
    """
    record = find_engine(engine)
    fast, slow = record.sample_spaces
    share = record.prefetched_wait_share
    return TEMPLATE.format(
        prefetched="30%" if share is None else f"{share:.0%}".ljust(3),
        engine=record.name,
        title=record.title,
        connection=textwrap.indent(record.sample_settings.rstrip("\n"), INDENT),
        fast=fast,
        slow=slow,
    )


HEAD = """\
# hotplace configuration. `hotplace doctor` checks it. Every key, with comments: hotplace init --full --engine {engine}

level: propose       # observe: watch and rank only. auto: also approve what a signed standing rule covers
dry_run: true        # what acts only prints its statements; set false to let approved moves run
ledger: {{path: hotplace.db}}                 # the durable record; paths are relative to this file's folder
metrics: {{listen: 127.0.0.1, port: 9477}}    # a live page at /, /metrics for Prometheus

databases:
"""
ENTRY = """\
  - name: {name}
    engine: {engine}
    connection:      # the login that watches
{connection}
{moving}    tiers:           # classes of storage, fastest first
      - {{name: ssd, kind: ssd, spaces: [{fast}]}}
      - {{name: hdd, kind: hdd, spaces: [{slow}]}}
"""
MOVING = "    move_connection: # the login that moves, once dry_run is false; the rest is as for connection\n"
NO_MOVING = "    # move_connection: {user: hotplace_move, password: {file: move.password}}   # the login that moves\n"
_PLAIN = re.compile(r"[\w/+][\w/.$+-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseEntry:
    """A database of a short configuration."""

    name: str
    connection: str  # YAML lines, not indented
    moving: str = ""  # the same of the login that moves; "": none yet
    fast: tuple[str, ...]  # spaces of the fast tier
    slow: tuple[str, ...]


def short_sample(engine: str) -> str:
    """A short configuration for one database of that engine; the long one is ``sample``.

    Raises:
        UnknownEngine: there is no such engine; the message names the nearest.
    """
    record = find_engine(engine)
    fast, slow = record.sample_spaces
    lines = record.sample_settings.splitlines()
    if record.first_settings:
        wanted = re.compile(rf"(# )?({'|'.join(record.first_settings)}):")
        lines = [line for line in lines if wanted.match(line)]
    return short_configuration(
        engine, [DatabaseEntry(name="main", connection="\n".join(lines), fast=(fast,), slow=(slow,))]
    )


def short_configuration(engine: str, entries: Iterable[DatabaseEntry]) -> str:
    """A configuration of what a first plan needs, about 25 lines for one database."""
    return HEAD.format(engine=engine) + "".join(_entry(engine, entry) for entry in entries)


def _entry(engine: str, entry: DatabaseEntry) -> str:
    moving = f"{MOVING}{textwrap.indent(entry.moving, INDENT)}\n" if entry.moving else NO_MOVING
    return ENTRY.format(
        name=scalar(entry.name),
        engine=engine,
        connection=textwrap.indent(entry.connection, INDENT),
        moving=moving,
        fast=", ".join(map(scalar, entry.fast)),
        slow=", ".join(map(scalar, entry.slow)),
    )


def yaml_lines(values: Mapping[str, object]) -> str:
    """Settings as lines of YAML; a mapping as a value stands on its line."""
    return "\n".join(f"{key}: {_value(value)}" for key, value in values.items())


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_value(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(map(_value, value))}]"
    return scalar(value) if isinstance(value, str) else json.dumps(value)


def scalar(text: str) -> str:
    """A text as YAML reads it back: plain where it can be, else in quotes.

    >>> scalar("pg_default"), scalar("on"), scalar("8.4")
    ('pg_default', '"on"', '"8.4"')
    """
    is_plain = _PLAIN.fullmatch(text) and yaml.safe_load(text) == text
    return text if is_plain else json.dumps(text, ensure_ascii=False)
