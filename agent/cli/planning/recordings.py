"""A recording after it was played, for people and as the answer: where it comes from, and the plan that comes of it."""

from __future__ import annotations

from agent.answers.kind import extend
from agent.answers.simulation import HistorySimulated, RecordingShown, RecordingSimulated
from agent.cli.planning.answer import plan_found, print_advice
from agent.explanation.advice import advice_on, advice_shown
from agent.model.units_of_measure import format_when
from agent.terminal.output import Output
from agent.terminal.wording import plan_shown, print_moves, print_value
from agent.what_if.replaying import Replayed


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
        print_value(out, proposal)
        print_moves(out, proposal.moves)
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
