"""What is said of splitting units: what it would bring, next to all of a unit and to memory, or why none helps."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from connectors.formatting import format_bytes, format_ratio, format_wait
from policies.benefit.splitting import SplitAnswer
from policies.block_heat.splits import Split, Unsplit
from policies.explanation.border import range_of
from policies.model.plan import Advice, AdviceCode


def advice_of_splits(answer: SplitAnswer, fastest: str, *, with_values: bool) -> Iterator[Advice]:
    """A piece of advice for each unit that was looked into.

    Args:
        answer: what splits would bring.
        fastest: name of the fastest tier.
        with_values: a border is said by its value, which is user data; else by the name of its column.
    """
    for split in answer.splits:
        yield Advice(
            code=AdviceCode.SPLIT if split.saves_per_hour > 0 else AdviceCode.NO_SPLIT,
            subject=split.key,
            sentence=split_sentence(split, fastest, with_values=with_values),
            saves_per_hour=split.saves_per_hour,
        )
    for unsplit in answer.unsplit:
        yield Advice(
            code=AdviceCode.NO_SPLIT,
            subject=unsplit.key,
            sentence=unsplit_sentence(unsplit, fastest),
            saves_per_hour=0.0,
        )


def split_sentence(split: Split, fastest: str, *, with_values: bool) -> str:
    """What a split would bring."""
    part = f"{_rows(split, with_values=with_values)} ({format_bytes(split.hot_bytes)}, {format_ratio(split.of_reads)}"
    if not split.fits:
        gain = f"take too much room for {fastest}, whatever gives way"
    elif split.saves_per_hour <= 0:
        gain = f"would save less on {fastest} than what has to give way there"
    else:
        ends = f"{format_wait(split.saves_low_per_hour)} to {format_wait(split.saves_high_per_hour)}"
        gain = f"would save {format_wait(split.saves_per_hour)} on {fastest} ({ends})"
    return (
        f"{split.key}: {part} of its reads) {gain}; all of it {format_wait(split.whole_saves_per_hour)} in "
        f"{format_bytes(split.whole_bytes)}{'' if split.whole_fits else ', which do not fit'}; "
        f"{format_bytes(split.hot_bytes)} more memory at most {format_wait(split.memory_saves_per_hour)}."
        f"{_next_step(split)}"
    )


def unsplit_sentence(unsplit: Unsplit, fastest: str) -> str:
    """Why no split helps, and what does."""
    where = "few blocks all over it" if unsplit.scattered else "all of its blocks"
    return (
        f"{unsplit.key}: its reads go to {where}, so no split helps; {format_bytes(unsplit.memory_bytes)} more memory "
        f"would save at most {format_wait(unsplit.memory_saves_per_hour)}, all of it on {fastest} "
        f"{format_wait(unsplit.whole_saves_per_hour)} in {format_bytes(unsplit.whole_bytes)}"
        f"{'' if unsplit.whole_fits else ', which do not fit'}."
    )


def _next_step(split: Split) -> str:
    """The command that shows the statements, where the hot part is the newest rows: those to come can be born there."""
    if split.saves_per_hour <= 0 or split.border is None or not split.border.rolls:
        return ""
    command = f"hotplace split {shlex.quote(split.key)} --column {shlex.quote(split.border.column)} --border VALUE"
    return f" `{command}` shows how, with a value ahead of the newest row."


def _rows(split: Split, *, with_values: bool) -> str:
    """What is split off."""
    if split.border is None:
        return "its hot blocks, which lie together,"
    if with_values:
        return f"its rows with {range_of(split.border)}"
    return f"its {'newest rows' if split.border.rolls else 'hot rows'} by {split.border.column}"
