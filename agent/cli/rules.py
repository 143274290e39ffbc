"""What may be done without asking me each time? ``rules propose|open|close|list|show``: the standing rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli.app import app, command
from agent.cli.approve import SignatureFile, read_signature
from agent.cli.commands import HelpGroup
from agent.cli.options import Reason, end_of, parse_option, refuse
from agent.cli.session import Session, actor
from agent.ledger.errors import Refused
from agent.ledger.rows import RuleRow, RuleState
from agent.model.answers.decisions import (
    ProposalUncovered,
    RuleExplained,
    RuleLimits,
    RuleShown,
    RuleSigned,
    RulesListed,
    RuleToSign,
    TemplateBound,
    TemplateShown,
    TemplateText,
)
from agent.model.answers.kind import extend
from agent.model.approvals import LockClass, StandingRule
from agent.model.proposals import BALANCE, purpose_of_template
from agent.model.signed_documents import RULE_NAMESPACE
from agent.model.states import ProposalState
from agent.model.units_of_measure import format_when, parse_bytes, parse_seconds
from agent.planning.idle_templates import unserved_of
from agent.terminal.columns import Column
from connectors.kit.contract import FillsTemplates
from connectors.kit.templates import StatementTemplate, TemplateKind
from connectors.model.moves import ByHand, ClosesParts, NoRoute
from policies.model.calendar import parse_window

if TYPE_CHECKING:  # it brings arrays, which listing rules does not need
    from agent.service.watch import Watch
    from agent.terminal.output import Output

COLUMNS = (
    Column("id", number=True), Column("state"), Column("units", name=True), Column("bytes", leaves=3),
    Column("locks", leaves=4), Column("today", number=True, leaves=2), Column("expires", leaves=1),
)  # fmt: skip
RuleId = Annotated[int, typer.Argument(min=1, metavar="RULE", help="Number of a rule, as `hotplace rules list` shows.")]

rules = typer.Typer(no_args_is_help=True, epilog="Example: hotplace rules list")
app.add_typer(
    rules,
    name="rules",
    help="Standing rules: within which signed limits level auto approves without asking each time.",
    rich_help_panel=HelpGroup.DECIDE,
)


@command(HelpGroup.DECIDE, "hotplace rules list", name="list", of=rules)
def list_rules(session: Session) -> None:
    """List the standing rules with their state and how often they were used in 24 hours."""
    known = session.ledger.rules
    rows = [known.with_todays_signers(row) for row in known.rows(session.options.database)]
    if rows:
        session.out.table(COLUMNS, [_cells(row) for row in rows])
        for row in rows:
            if row.state is RuleState.OPEN and row.reason:
                session.out.line(f"rule {row.number} approves nothing: {row.reason}")
    else:
        session.out.line("no standing rule; hotplace rules propose makes one")
    if session.config.databases and not session.config.automatic:  # without any it is the machine of who signs
        session.out.note(f"the level is {session.config.level}: rules approve nothing before it is auto")
    shown = tuple(rule_shown(row) for row in rows)
    session.out.document(RulesListed(level=session.config.level, rules=shown))


@command(HelpGroup.DECIDE, "hotplace rules show 1", of=rules)
def show(session: Session, number: RuleId) -> None:
    """Show a rule: limits, signers, what it approved, why it leaves others waiting, or why none can come."""
    row = session.ledger.rules.with_todays_signers(session.ledger.rules.row(number))
    waiting = session.ledger.proposals.rows(database=row.rule.database, states={ProposalState.PROPOSED})
    against = {each.id: session.ledger.rules.why_not(each, row) for each in waiting}
    session.out.line(f"standing rule {number} for {row.rule.database} is {row.state}{_because(row)}")
    session.out.facts(row.rule.limits.items())
    session.out.line(f"proposed by {row.proposed_by}; signed by: {', '.join(row.signed_by) or 'none yet'}")
    approved = ", ".join(map(str, row.approved)) or "none"
    session.out.line(f"approved: {approved}; {row.used_today} of {row.rule.most_a_day} in 24 hours")
    for proposal, why in against.items():
        session.out.line(f"proposal {proposal} waits: {why or 'the rule covers it, at level auto'}")
    unserved = unserved_of(session.ledger, row)
    if unserved is not None:
        session.out.line(f"held up: {unserved.why} (seen {format_when(unserved.seen_at)})")
    session.out.document(
        extend(
            RuleExplained,
            rule_shown(row),
            waiting=tuple(ProposalUncovered(proposal=proposal, why=why) for proposal, why in against.items()),
            unserved=None if unserved is None else unserved.why,
        )
    )


@command(
    HelpGroup.DECIDE,
    "hotplace rules propose --units 'public.*' --at-most 50GB --locks brief --stall 1s --gain-at-least 10min "
    "--a-day 1 --until 30d",
    of=rules,
)
def propose(
    session: Session,
    at_most: Annotated[str, typer.Option(metavar="SIZE", help="What one proposal may move.")],
    stall: Annotated[str, typer.Option(metavar="DURATION", help="How long one move may hold up others, as predicted.")],
    a_day: Annotated[int, typer.Option(min=1, metavar="N", help="Proposals that it may approve in 24 hours.")],
    until: Annotated[str, typer.Option(metavar="TIME|DURATION", help="When it ends: 2030-01-31, or in 30d.")],
    window: Annotated[
        list[str] | None,
        typer.Option(metavar="WINDOW", help="When its moves may run: 'sat,sun 22:00-05:00'; default as configured."),
    ] = None,
    units: Annotated[
        list[str] | None, typer.Option(metavar="PATTERN", help="Units it is for; repeat for more; * and ?.")
    ] = None,
    locks: Annotated[
        LockClass | None, typer.Option(help="With --units: what moves may lock: none, brief (a moment), any.")
    ] = None,
    gain_at_least: Annotated[
        str,
        typer.Option(metavar="DURATION", help="With --units: wait saved an hour, by the prediction's lower end."),
    ] = "",
    mode: Annotated[
        str, typer.Option(metavar="MODE", help="With --units: what proposals it is for, as plan --mode; default hsm.")
    ] = "",
    table: Annotated[
        str, typer.Option(metavar="TABLE", help="In place of --units: a table that is partitioned by dates or times.")
    ] = "",
    to: Annotated[
        str, typer.Option(metavar="SPACE", help="With --table: where next partitions are made, or aged ones go.")
    ] = "",
    ahead: Annotated[
        str, typer.Option(metavar="DURATION", help="With --table: make partitions that begin within this time.")
    ] = "",
    aged: Annotated[
        str, typer.Option(metavar="DURATION", help="With --table: move those whose last row is this old.")
    ] = "",
    close: Annotated[
        str, typer.Option(metavar="DURATION", help="With --table: end the open part of a split table this often.")
    ] = "",
) -> None:
    """Propose a rule; it covers nothing until it is signed. Asks the database who it is, and changes nothing.

    It is for proposals about units, or over a template: statements for the next partitions of a table, aged ones, or
    ends of open ones.
    """
    limits = {
        "most_bytes": parse_option(parse_bytes, at_most, "--at-most"),
        "most_stall_seconds": parse_option(parse_seconds, stall, "--stall"),
        "most_a_day": a_day, "expires_at": end_of(until, session.clock, "--until"), "windows": tuple(window or ()),
    }  # fmt: skip
    of_units = {"--units": units, "--locks": locks, "--gain-at-least": gain_at_least}
    of_table = {"--to": to, "--ahead": ahead, "--aged": aged, "--close": close}
    if table:
        refuse({**of_units, "--mode": mode}, "a rule over a --table does not take it")
        _require({"--to": to})
        _propose(session, _over_a_template(session.out, table, to, of_table), limits)
        return
    refuse(of_table, "it is for a rule over a --table only")
    _require(of_units)
    _propose(
        session,
        lambda watch: {"fingerprint": watch.identity.fingerprint},
        limits | {
            "mode": mode or BALANCE, "units": tuple(units or ()), "locks": locks,
            "least_gain_per_hour": parse_option(parse_seconds, gain_at_least, "--gain-at-least"),
        },
    )  # fmt: skip


def _require(given: Mapping[str, object]) -> None:
    """See that each of the options was given.

    Raises:
        BadParameter: one was not.
    """
    for option, value in given.items():
        if not value:
            raise typer.BadParameter("it is missing; a rule is for --units, or over a --table", param_hint=option)


def _over_a_template(out: Output, table: str, to: str, given: Mapping[str, str]) -> Callable[[Watch], dict[str, Any]]:
    """What a rule over a template is, asked of the database.

    Args:
        out: for statements that a person has to run.
        table: whose partitions it is about.
        to: the space of them.
        given: --ahead, --aged and --close; exactly one of them has a value.

    Raises:
        BadParameter: none of the three was given, several were, or it is no duration.
    """
    kinds = {
        "--ahead": TemplateKind.NEXT_PARTITION, "--aged": TemplateKind.AGED_PARTITION,
        "--close": TemplateKind.CLOSED_PART,
    }  # fmt: skip
    chosen = [option for option in kinds if given[option]]
    if len(chosen) != 1:
        raise typer.BadParameter("give one of --ahead, --aged and --close", param_hint="--table")
    (option,) = chosen
    seconds = int(parse_option(parse_seconds, given[option], option))

    def asked(watch: Watch) -> dict[str, Any]:
        template = _template(out, watch, kinds[option], table, to, seconds)
        return {
            "fingerprint": watch.identity.fingerprint, "template": template, "mode": purpose_of_template(template),
            # The template names table, schema and spaces; the catalog says which partitions there are.
            "units": ("*",), "locks": LockClass.ANY, "least_gain_per_hour": 0.0,
        }  # fmt: skip

    return asked


def _template(
    out: Output, watch: Watch, kind: TemplateKind, table: str, to_space: str, seconds: int
) -> StatementTemplate:
    """What the connector makes.

    Raises:
        Refused: it makes none, for a reason of its own; where a person may run statements, they are printed.
        ConnectorError: the engine did not answer.
    """
    connector = watch.connector
    if not isinstance(connector, FillsTemplates):
        raise Refused(f"for {watch.database.engine} hotplace makes no partitions and moves none by the calendar")
    if kind is TemplateKind.CLOSED_PART and not isinstance(connector, ClosesParts):
        raise Refused(f"for {watch.database.engine} hotplace closes no parts")
    answer = connector.template(kind, table, to_space, seconds)
    if isinstance(answer, ByHand):
        from agent.cli.plan_answer import print_by_hand  # it brings arrays, which listing rules does not need

        print_by_hand(out, f"{kind} of {table}, by hand", answer)
        raise Refused(answer.because)
    if isinstance(answer, NoRoute):
        raise Refused(answer.sentence)
    return answer


def _propose(session: Session, asked: Callable[[Watch], dict[str, Any]], limits: dict[str, Any]) -> None:
    """Store a rule of these limits and of what is asked of the database, and say how to go on."""
    database = session.database
    for text in limits["windows"]:
        parse_option(parse_window, text, "--window")
    watch = session.watch()
    try:
        limits |= asked(watch)
    finally:
        watch.close(save=False)
    try:
        rule = StandingRule(database=database.name, time_zone=str(database.time_zone), **limits)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    who = actor()
    number = session.ledger.rules.propose(rule, who=who.who, origin=who.origin)
    session.out.line(f"standing rule {number} is proposed; it covers nothing before it is signed")
    session.out.facts(rule.limits.items())
    session.out.line(f"next: hotplace rules open {number} > rule.txt")
    session.out.document(rule_shown(session.ledger.rules.row(number)))


@command(HelpGroup.DECIDE, "hotplace rules open 1 --signature rule.txt.sig", name="open", of=rules)
def open_rule(session: Session, number: RuleId, signature: SignatureFile = None) -> None:
    """Print what is to be signed to open a rule, or take in a signature; a closed rule is signed once more."""
    if signature is None:
        _print_document(session, number)
        return
    row = session.ledger.rules.open(number, origin=actor().origin, signature=read_signature(signature))
    needed = session.config.approvals
    if row.state is RuleState.OPEN:
        session.out.line(f"standing rule {number} is open until {format_when(row.rule.expires_at)}")
        if session.config.databases and not session.config.automatic:
            session.out.line(f"it approves nothing yet: the level is {session.config.level}; set level: auto")
    else:
        session.out.line(f"standing rule {number} has {len(row.signed_by)} of {needed} signatures")
        session.out.line("next: another person signs the same document with a key of his own")
    session.out.document(extend(RuleSigned, rule_shown(row), needed=needed))


@command(HelpGroup.DECIDE, "hotplace rules close 1 --reason 'month end'", name="close", of=rules)
def close_rule(session: Session, number: RuleId, reason: Reason = "") -> None:
    """Close a rule: it approves nothing more, and what it approved does not begin any more."""
    who = actor()
    row = session.ledger.rules.close(number, who=who.who, origin=who.origin, reason=reason)
    session.out.line(f"standing rule {number} is closed by {who.who}; a group that was begun is completed")
    session.out.document(rule_shown(row))


def _print_document(session: Session, number: int) -> None:
    """What to sign, alone on standard output, and how to go on."""
    text, row = session.ledger.rules.document(number).text, session.ledger.rules.row(number)
    to_sign = extend(
        RuleToSign, rule_shown(row), document=text, namespace=RULE_NAMESPACE, needed=session.config.approvals
    )
    if not session.out.as_json:
        session.out.verbatim(to_sign.document)
    session.out.note("read it; then sign just this text, saved as FILE, as yourself:")
    session.out.note(f"ssh-keygen -Y sign -n {RULE_NAMESPACE} -f ~/.ssh/id_ed25519 FILE")
    session.out.note(f"hotplace rules open {number} --signature FILE.sig")
    session.out.document(to_sign)


def _because(row: RuleRow) -> str:
    return f": {row.reason}" if row.reason else ""


def _cells(row: RuleRow) -> tuple[str, ...]:
    rule = row.rule
    return (
        str(row.number), row.state, " ".join(rule.units), rule.limits["bytes"].partition("(")[2].rstrip(")"),
        rule.locks, f"{row.used_today} of {rule.most_a_day}", format_when(rule.expires_at),
    )  # fmt: skip


def rule_shown(row: RuleRow) -> RuleShown:
    """A rule as an answer has it."""
    return RuleShown(
        rule=row.number,
        state=row.state,
        reason=row.reason,
        limits=_limits(row.rule),
        proposed_by=row.proposed_by,
        proposed_at=row.proposed_at,
        signed_by=tuple(row.signed_by),
        used_today=row.used_today,
        approved=tuple(row.approved),
    )


def _limits(rule: StandingRule) -> RuleLimits:
    return RuleLimits(
        database=rule.database,
        fingerprint=rule.fingerprint,
        mode=rule.mode,
        most_bytes=rule.most_bytes,
        most_stall_seconds=rule.most_stall_seconds,
        least_gain_per_hour=rule.least_gain_per_hour,
        most_a_day=rule.most_a_day,
        time_zone=rule.time_zone,
        units=tuple(rule.units),
        windows=tuple(rule.windows),
        locks=rule.locks,
        expires_at=rule.expires_at,
        template=None if rule.template is None else _template_shown(rule.template),
    )


def _template_shown(template: StatementTemplate) -> TemplateShown:
    return TemplateShown(
        kind=template.kind,
        table=template.table,
        space=template.space,
        from_space=template.from_space,
        texts=tuple(TemplateText(role=text.role, sql=text.sql) for text in template.texts),
        parameters=tuple(
            TemplateBound(name=each.name, kind=each.kind, least=each.least, most=each.most)
            for each in template.parameters
        ),
    )
