"""What is said of the heat inside a unit."""

from __future__ import annotations

from collections.abc import Callable
from math import isnan

from connectors.formatting import format_bytes, format_ratio, format_wait
from policies.block_heat.concentration import LEAST_SEEN, Concentration, Shape
from policies.block_heat.range_heat import RangeHeat


def inside_sentences(heat: RangeHeat, found: Concentration, saves_per_hour: float, fastest: str) -> tuple[str, ...]:
    """Where the reads of a unit go, and what a split along that would bring.

    Args:
        heat: what looks have shown.
        found: of it.
        saves_per_hour: seconds of wait that the whole unit would save on the fastest tier.
        fastest: name of that tier.
    """
    return _SAID[found.shape](heat, found, saves_per_hour, fastest)


def _say_newest(heat: RangeHeat, found: Concentration, saves_per_hour: float, fastest: str) -> tuple[str, ...]:
    return (f"its newest {_part(heat, found)}", _split(heat, found, saves_per_hour, fastest))


def _say_range(heat: RangeHeat, found: Concentration, saves_per_hour: float, fastest: str) -> tuple[str, ...]:
    assert found.part is not None, "this shape has one"
    at = format_bytes(found.part.first_block * heat.block_bytes)
    return (
        f"{_part(heat, found)}; they begin at {at} of {format_bytes(heat.blocks * heat.block_bytes)}",
        _split(heat, found, saves_per_hour, fastest),
    )


def _say_scattered(_heat: RangeHeat, found: Concentration, _saves: float, fastest: str) -> tuple[str, ...]:
    tenth = found.hottest[1]
    hottest = (
        f"the hottest {format_ratio(tenth.of_blocks)} of its blocks take {format_ratio(tenth.of_reads)} of its reads "
        f"from storage ({format_ratio(tenth.low)} to {format_ratio(tenth.high)}) and lie all over it"
    )
    return (
        hottest,
        f"no split helps: more memory would hold its hot blocks, or {fastest} all of it",
    )


def _say_even(_heat: RangeHeat, found: Concentration, _saves: float, fastest: str) -> tuple[str, ...]:
    quarter = found.hottest[-1]
    hottest = f"the hottest {format_ratio(quarter.of_blocks)} of its blocks take {format_ratio(quarter.of_reads)}"
    return (
        f"its reads from storage go to all of it: {hottest}",
        f"no split helps: only all of it on {fastest} does",
    )


def _say_unknown(heat: RangeHeat, _found: Concentration, _saves: float, _fastest: str) -> tuple[str, ...]:
    return (
        f"too few of its blocks were seen to come in to say where its reads go: {heat.seen:,.0f} of {LEAST_SEEN:,.0f}",
    )


def _part(heat: RangeHeat, found: Concentration) -> str:
    assert found.part is not None, "this shape has one"
    share, of_wait = found.part.share, heat.wait_share(found.part.first_block, found.part.blocks)
    waits = "" if isnan(of_wait) else f", {format_ratio(of_wait)} of the time that these took"
    return (
        f"{format_bytes(found.part.blocks * heat.block_bytes)} ({format_ratio(share.of_blocks)} of it) take "
        f"{format_ratio(share.of_reads)} of its reads from storage ({format_ratio(share.low)} to "
        f"{format_ratio(share.high)}){waits}"
    )


def _split(heat: RangeHeat, found: Concentration, saves_per_hour: float, fastest: str) -> str:
    assert found.part is not None, "this shape has one"
    part = found.part
    return (
        f"split off and on {fastest}, that part would save {format_wait(part.share.of_reads * saves_per_hour)} in "
        f"{format_bytes(part.blocks * heat.block_bytes)}; all of it {format_wait(saves_per_hour)} in "
        f"{format_bytes(heat.blocks * heat.block_bytes)}"
    )


_SAID: dict[Shape, Callable[[RangeHeat, Concentration, float, str], tuple[str, ...]]] = {
    Shape.NEWEST: _say_newest,
    Shape.RANGE: _say_range,
    Shape.SCATTERED: _say_scattered,
    Shape.EVEN: _say_even,
    Shape.UNKNOWN: _say_unknown,
}
