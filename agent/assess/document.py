"""An assessment as an answer."""

from __future__ import annotations

from agent.answers import assessment as answers
from agent.assess.assessing import Assessment, Offer
from agent.explanation.read_times import tiers_shown
from policies.sizing.curve import Point, Sizing


def assessment_shown(found: Assessment) -> answers.Assessment:
    """Everything that the tables show, and more of each."""
    observation, curve = found.observation, found.sizing
    return answers.Assessment(
        engine=observation.engine,
        database=observation.database,
        source=observation.source,
        seconds=observation.demand.seconds,
        read_wait_per_hour_seconds=found.wait_per_hour,
        measured_read_wait_per_hour_seconds=found.measured_wait_per_hour,
        read_wait_of_session_time_ratio=found.ceiling_ratio,
        tiers=tiers_shown(found.tiers),
        spaces=tuple(
            answers.SpaceAssessed(
                space=each.name,
                random_reads_per_second=each.random_reads,
                read_seconds=each.read_seconds,
                wait_per_hour_seconds=each.wait_per_hour,
                wait_saved_per_hour_seconds=each.saves_per_hour,
                bytes=each.size_bytes,
            )
            for each in found.spaces
        ),
        units=tuple(
            answers.UnitAssessed(
                unit=each.key,
                space=each.space,
                wait_per_hour_seconds=each.wait_per_hour,
                wait_low_per_hour_seconds=each.low_per_hour,
                wait_high_per_hour_seconds=each.high_per_hour,
                wait_saved_per_hour_seconds=each.saves_per_hour,
                bytes=each.size_bytes,
            )
            for each in found.units
        ),
        sized_wait_ratio=found.sized_ratio,
        knee=None if curve is None or not curve.knee_distance else _size(curve, curve.knee),
        curve=None if curve is None else tuple(_size(curve, point) for point in curve.points),
        offer=None if found.offer is None else _offer(found.offer),
        notes=tuple(observation.notes),
    )


def _size(curve: Sizing, point: Point) -> answers.SizeAssessed:
    return answers.SizeAssessed(
        bytes=point.size_bytes,
        wait_saved_per_hour_seconds=point.saved_per_hour,
        wait_saved_at_todays_latencies_per_hour_seconds=point.today_per_hour,
        wait_saved_at_most_per_hour_seconds=point.most_per_hour,
        next_gib_saves_per_hour_seconds=curve.next_gib(point),
        units=point.units,
        used_bytes=point.used_bytes,
    )


def _offer(offer: Offer) -> answers.OfferAssessed:
    plan = offer.plan
    return answers.OfferAssessed(
        bytes=offer.size_bytes,
        wait_saved_per_hour_seconds=plan.wait_saved_per_hour,
        wait_saved_low_per_hour_seconds=plan.wait_saved_low_per_hour,
        wait_saved_high_per_hour_seconds=plan.wait_saved_high_per_hour,
        units=tuple(
            answers.UnitOffered(
                unit=move.key, bytes=move.size_bytes, wait_saved_per_hour_seconds=move.wait_saved_per_hour
            )
            for move in plan.moves
        ),
    )
