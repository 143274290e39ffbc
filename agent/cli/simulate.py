"""What would have been done under other settings? ``simulate``.

A recording after it was played, for people and as the answer: where it comes from, and the plan that comes of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
import yaml
from pydantic import ValidationError

from agent.cli.app import command
from agent.cli.commands import HelpGroup
from agent.cli.options import parse_option
from agent.cli.plan_answer import plan_found, print_advice
from agent.cli.session import Session
from agent.config.models import DatabaseConfig, PolicyConfig
from agent.ledger.ledger import Ledger
from agent.model.answers.kind import extend
from agent.model.answers.sizing import HistorySimulated, MoveSimulated, RecordingShown, RecordingSimulated
from agent.model.units_of_measure import format_when, parse_bytes, parse_seconds
from agent.planning.advice import advice_on, advice_shown
from agent.planning.allowance import Limits, limits_of
from agent.studies.recordings import load_names
from agent.studies.simulation import Played, Replayed, play, play_recording, start_of
from agent.terminal.columns import Column
from agent.terminal.deciding import print_details, print_summary
from agent.terminal.errors import CommandError, ExitCode
from agent.terminal.output import Output
from agent.terminal.wording import plan_shown
from connectors.model.formatting import format_bytes, format_ratio, format_seconds
from policies.model.calendar import parse_window
from policies.model.plan import Situation
from policies.model.settings import PolicySettings, TierSpeed


def print_recording(out: Output, again: Replayed) -> None:
    """Where it comes from, and the plan at its end."""
    last = again.last
    engine = again.database.engine_record.title
    out.facts(
        [
            ("recording", f"{engine}, by hotplace {again.version}, names {again.names}"),
            ("from", f"{format_when(again.since)} to {format_when(again.clock.now())}"),
            ("samples", f"{last.samples}, {last.failed} failed"),
            ("ended", again.ended or f"not: {again.damage}"),
        ]
    )
    proposal = last.proposal or (None if last.prospect is None else last.prospect.proposal)
    out.heading("the plan at its end" if last.proposal is not None or proposal is None else "the plan as it looks")
    if proposal is None:
        out.line("nothing is worth moving")
    else:
        print_summary(out, proposal, proposal.moves)
        print_details(out, proposal, proposal.moves)
    if last.planning is not None:
        print_advice(out, advice_on(last.planning))


def recording_simulated(again: Replayed, history: HistorySimulated) -> RecordingSimulated:
    """The same, with what came of its history under other settings."""
    last = again.last
    return extend(
        RecordingSimulated,
        history,
        recording=RecordingShown(
            engine=again.database.engine,
            version=again.version,
            names=again.names,
            since=again.since,
            until=again.clock.now(),
            samples=last.samples,
            failed_samples=last.failed,
            ended=again.ended or None,
            damage=again.damage or None,
        ),
        plan=None if last.planning is None else plan_found(last.planning, last.proposal),
        as_it_looks=None if last.prospect is None else plan_shown(last.prospect.proposal),
        advice=() if last.planning is None else advice_shown(advice_on(last.planning)),
    )


T = TypeVar("T")
COLUMNS = (Column("at"), Column("unit", name=True), Column("from"), Column("to"), Column("size", number=True))
SHOWN = 50


@command(HelpGroup.LOOK, "hotplace simulate --capacity ssd='500 GiB' --policy cool_down=7d --since 7d", reads=True)
def simulate(
    session: Session,
    since: Annotated[str, typer.Option(metavar="DURATION", help="How far back the history is played again.")] = "14d",
    plan_every: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Time between two plans; default as configured.")
    ] = None,
    capacity: Annotated[
        list[str] | None,
        typer.Option(metavar="SPACE=SIZE", help="Let a space, or a tier of one space, be this large."),
    ] = None,
    random_read: Annotated[
        list[str] | None, typer.Option(metavar="TIER=DURATION", help="Let a tier answer this fast; repeat it.")
    ] = None,
    window: Annotated[
        list[str] | None, typer.Option(metavar="WINDOW", help="Move in these windows only, not the configured ones.")
    ] = None,
    policy: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Another value of the policy part; repeat it.")
    ] = None,
    recording: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Play a file of `hotplace lab record`, its configuration included."),
    ] = None,
    until_damage: Annotated[
        bool, typer.Option("--until-damage", help="Of a damaged recording play what comes before the damage.")
    ] = False,
    names: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Show real names: the file that `hotplace lab record` wrote by its key."),
    ] = None,
) -> None:
    """Play the recorded history again under other settings; asks no database and changes nothing."""
    asked = _Asked(since, plan_every, capacity or [], random_read or [], window or [], policy or [])
    if recording is None:
        found = asked.play(session.database, session.ledger, session.clock.now())
        _print(session.out, found)
        session.out.document(found)
        return
    out = session.out if names is None else session.out.translated(load_names(names).restore)
    with play_recording(recording, policy=asked.policy_values(), until_damage=until_damage) as again:
        found = asked.play(again.database, again.ledger, again.clock.now())
        print_recording(out, again)
        out.heading("the recorded history under these settings")
        _print(out, found)
        out.document(recording_simulated(again, found))


@dataclass(frozen=True, slots=True)
class _Asked:
    """The options, and what is played by them."""

    since: str
    plan_every: str | None
    capacity: list[str]
    random_read: list[str]
    window: list[str]
    policy: list[str]

    def play(self, database: DatabaseConfig, ledger: Ledger, now: datetime) -> HistorySimulated:
        """What came of it."""
        lasts, every = parse_option(parse_seconds, self.since, "--since"), database.plan_seconds
        if self.plan_every is not None:
            every = parse_option(parse_seconds, self.plan_every, "--plan-every")
        situation, slots = start_of(ledger, database.name)
        situation = _with_speeds(_with_capacities(situation, self.capacity), self.random_read)
        played = play(
            situation,
            _settings(database, self.policy_values()),
            slots,
            ledger.history.read(database.name, now - timedelta(seconds=lasts), now),
            _limits(database, self.window),
            safety=database.copy_safety,
            plan_every=timedelta(seconds=every),
        )
        return _simulated(database.name, every, played)

    def policy_values(self) -> dict[str, Any]:
        """Values of the policy part by key, as YAML reads them."""
        known = [item.alias or name for name, item in PolicyConfig.model_fields.items()]
        changed = _pairs(self.policy, known, "--policy")
        try:
            return {key: yaml.safe_load(text) for key, text in changed.items()}
        except yaml.YAMLError as error:
            raise typer.BadParameter(str(error), param_hint="--policy") from error


def _pairs(given: list[str], known: list[str], option: str) -> dict[str, str]:
    """Names and values, each name a known one.

    Raises:
        CommandError: there is nothing of that name.
    """
    pairs = {}
    for text in given:
        name, separator, value = text.partition("=")
        if not separator:
            raise typer.BadParameter(f"{text!r}: write NAME=VALUE", param_hint=option)
        if name not in known:
            raise CommandError(
                f"{option}: nothing is named {name!r}", code=ExitCode.NOT_FOUND, advice=f"There are {', '.join(known)}."
            )
        pairs[name] = value
    return pairs


def _with_capacities(situation: Situation, given: list[str]) -> Situation:
    names = _spaces_by_name(situation)
    pairs = _pairs(given, list(names), "--capacity")
    sizes = {names[name]: parse_option(parse_bytes, text, "--capacity") for name, text in pairs.items()}
    spaces = tuple(
        replace(space, capacity_bytes=sizes[space.name], free_bytes=sizes[space.name] - space.used_bytes)
        if space.name in sizes
        else space
        for space in situation.spaces
    )
    return replace(situation, spaces=spaces)


def _spaces_by_name(situation: Situation) -> dict[str, str]:
    """What ``--capacity`` may call a space: its own name, or that of a tier which has no other space."""
    of_tier = [
        [
            space.name
            for space, row in zip(situation.spaces, situation.tier_of_space.tolist(), strict=True)
            if row == tier
        ]
        for tier in range(len(situation.tiers))
    ]
    tiers = zip(situation.tiers, of_tier, strict=True)
    alone = {tier.name: spaces[0] for tier, spaces in tiers if len(spaces) == 1}
    return alone | {space.name: space.name for space in situation.spaces}


def _with_random_read(speed: TierSpeed, seconds: float) -> TierSpeed:
    """The speed with a given random read time instead of the measured one."""
    return replace(speed, random_read_seconds=seconds, measured=False, least_read_seconds=0.0, most_read_seconds=0.0)


def _with_speeds(situation: Situation, given: list[str]) -> Situation:
    pairs = _pairs(given, [tier.name for tier in situation.tiers], "--random-read")
    seconds = {name: parse_option(parse_seconds, text, "--random-read") for name, text in pairs.items()}
    tiers = tuple(
        replace(tier, speed=_with_random_read(tier.speed, seconds[tier.name])) if tier.name in seconds else tier
        for tier in situation.tiers
    )
    return replace(situation, tiers=tiers)


def _settings(database: DatabaseConfig, given: dict[str, Any]) -> PolicySettings:
    try:
        policy = PolicyConfig.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise typer.BadParameter(f"{first['loc'][0]}: {first['msg']}", param_hint="--policy") from error
    asked = {name: getattr(policy, name) for name in policy.model_fields_set}
    return database.policy.model_copy(update=asked).settings()


def _limits(database: DatabaseConfig, windows: list[str]) -> Limits:
    limits = limits_of(database)
    if not windows:
        return limits
    opened = tuple(parse_option(parse_window, text, "--window") for text in windows)
    return replace(limits, calendar=replace(limits.calendar, windows=opened))


def _simulated(database: str, every: float, played: Played) -> HistorySimulated:
    return HistorySimulated(
        database=database,
        plan_every_seconds=every,
        since=played.since,
        until=played.until,
        observed_seconds=played.observed_seconds,
        intervals=played.intervals,
        plans=played.plans,
        wait_as_it_is_seconds=played.wait_as_it_is,
        wait_simulated_seconds=played.wait_simulated,
        wait_all_fast_seconds=played.wait_all_fast,
        saved_ratio=played.saved_ratio,
        bytes_moved=played.bytes_moved,
        moved_more_than_once=played.moved_more_than_once,
        moves=tuple(
            MoveSimulated(
                at=move.at, unit=move.key, from_space=move.from_space, to_space=move.to_space, bytes=move.size_bytes
            )
            for move in played.moves
        ),
    )


def _print(out: Output, found: HistorySimulated) -> None:
    simulated = f"{format_seconds(found.wait_simulated_seconds)}, {format_ratio(found.saved_ratio)} less"
    moves = f"{len(found.moves)}, {format_bytes(found.bytes_moved)}; {found.moved_more_than_once} units twice"
    out.facts(
        [
            ("played", f"{format_when(found.since)} to {format_when(found.until)}, {found.intervals} intervals"),
            ("watched for", format_seconds(found.observed_seconds)),
            ("read wait as it is", format_seconds(found.wait_as_it_is_seconds)),
            ("read wait simulated", simulated),
            ("all on the fastest", format_seconds(found.wait_all_fast_seconds)),
            ("plans", f"{found.plans}, one every {format_seconds(found.plan_every_seconds)}"),
            ("moves", moves),
        ]
    )
    if found.moves:
        rows = [
            (format_when(move.at), move.unit, move.from_space, move.to_space, format_bytes(move.bytes))
            for move in found.moves[:SHOWN]
        ]
        out.table(COLUMNS, rows)
    out.line("By the model, from the placement of the last plan; what copying costs sessions is not counted.")
