"""The one file of all that a person carries out for a proposal; no other page is needed to run it.

Statements of the engine stand in it as they are, everything else is a comment. A statement whose names hold a character
that would break its line is a comment, too (``connectors.model.formatting``): no name becomes a statement.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from agent.model.proposals import DIGEST_SHOWN, Proposal, ProposedMove, grouped
from agent.model.units_of_measure import format_when
from agent.terminal.errors import CommandError, ExitCode, not_written
from connectors.model.formatting import comment, commented, format_bytes, format_sessions, is_plain, written
from connectors.model.moves import ByHand
from connectors.model.new_space import makes_or_drops_space

Hand = tuple[ProposedMove, ByHand]


def require_new(path: Path) -> None:
    """See that a file can be written without losing one.

    Raises:
        CommandError: it exists.
    """
    if os.path.lexists(path):
        raise _exists(path)


def why_not_by_hand(path: Path, moves: Sequence[ProposedMove]) -> CommandError | None:
    """The error of moves that hotplace carries out, all of them; None where a person carries out any."""
    if any(move.by_hand for move in moves):
        return None
    return CommandError(
        f"nothing is written to {path}: hotplace carries out every move of this itself",
        code=ExitCode.REFUSED,
        advice="hotplace approve has it do so; hotplace show ID --sql prints the statements.",
    )


def write_script(path: Path, proposal: Proposal, moves: Sequence[ProposedMove], stored: int | None) -> None:
    """Write the file, mode 0600, all of it or nothing, and never over another one; arguments as ``hand_script``.

    Raises:
        CommandError: the file exists, or it cannot be written.
    """
    text = hand_script(proposal, moves, stored)
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.link(temporary, path)
        finally:
            Path(temporary).unlink(missing_ok=True)
    except FileExistsError as error:
        raise _exists(path) from error
    except OSError as error:
        raise not_written(path, error, "Name a file in a folder that exists and that you may write to.") from error


def _exists(path: Path) -> CommandError:
    return CommandError(
        f"{path} exists already, and is not overwritten", code=ExitCode.REFUSED, advice="Name another file."
    )


def hand_script(proposal: Proposal, moves: Sequence[ProposedMove], stored: int | None) -> str:
    """The text of the file.

    Args:
        proposal: what it is of.
        moves: those of its moves that are to be carried out.
        stored: number of the proposal; None: it is not stored.
    """
    hands = [(move, move.route.by_hand) for move in moves if move.route.by_hand is not None]
    head = [comment(line) for line in _head(proposal, moves, hands, stored)]
    opening = [line for lines in dict.fromkeys(hand.opening for _, hand in hands) for line in lines]
    parts: list[list[str]] = [[*opening, *head]]
    parts.append(_once(hand.before for _, hand in hands))
    earlier = _sent_before(moves)
    parts += [_of_move(move, hand, earlier[move.ordinal]) for move, hand in hands]
    parts += [_once(hand.after for _, hand in hands), list(_way_back(hands))]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _head(
    proposal: Proposal, moves: Sequence[ProposedMove], hands: Sequence[Hand], stored: int | None
) -> Iterator[str]:
    """What the file is, what it is worth, how it is run, and how hotplace hears of it."""
    size, saves = sum(move.size_bytes for move, _ in hands), sum(move.wait_saved_per_hour for move, _ in hands)
    count = f"{len(hands)} move{'' if len(hands) == 1 else 's'}"
    gain = f"; {_gain(saves)}, as predicted" if saves else ""
    yield f"hotplace, {proposal.database}: {count} by hand, {format_bytes(size)}{gain}."
    made = f"made {format_when(proposal.created_at)}"
    if stored is None:
        yield f"Of a plan that is not stored, {made}: hotplace plan --propose stores one, to be approved."
    else:
        until = format_when(proposal.expires_at)
        yield f"Of proposal {stored}, digest {proposal.digest[:DIGEST_SHOWN]}, {made}."
        yield f"Approve it before you run this: hotplace approve {stored}. Its moves are then looked for in the catalog"
        yield f"until {until}, and their outcome is measured: hotplace history."
    yield "hotplace sends no statement of this file."
    if others := ", ".join(str(move.ordinal) for move in moves if not move.by_hand):
        yield f"Moves of the same plan that hotplace carries out, and that are not in this file: {others}."
    yield from dict.fromkeys(f"By hand, because {hand.because}." for _, hand in hands)
    yield from dict.fromkeys(f"Run with: {hand.run_with}." for _, hand in hands if hand.run_with)


def _gain(saves: float) -> str:
    """What is predicted; where nothing is, for want of counters or of reads, nothing is said."""
    return f"{'saves' if saves > 0 else 'costs'} {format_sessions(abs(saves))} waiting sessions"


def _of_move(move: ProposedMove, hand: ByHand, after: Sequence[int]) -> list[str]:
    gain = f"; {_gain(move.wait_saved_per_hour)}" if move.wait_saved_per_hour else ""
    where = f" from {move.from_space} to {move.to_space}, {format_bytes(move.size_bytes)}{gain}"
    lines = [comment(f"move {move.ordinal}: {move.what}{'' if makes_or_drops_space(move.route) else where}")]
    if after:
        numbers = ", ".join(map(str, after))
        lines.append(comment(f"only after move {numbers}, which hotplace carries out: hotplace history shows when"))
    # All or none: a space that is stopped for an ALTER that cannot be written would be stopped in vain.
    whole = all(map(is_plain, hand.statements))
    return [*lines, *(map(written, hand.statements) if whole else commented(hand.statements))]


def _sent_before(moves: Sequence[ProposedMove]) -> dict[int, tuple[int, ...]]:
    """For each move the earlier ones of its group that hotplace carries out: they make its room."""
    return {
        move.ordinal: tuple(other.ordinal for other in group[:at] if not other.by_hand)
        for group in grouped(moves)
        for at, move in enumerate(group)
    }


def _once(parts: Iterable[Sequence[str]]) -> list[str]:
    """Lines that several moves have in common, once each."""
    return [written(line) for line in dict.fromkeys(line for part in parts for line in part)]


def _way_back(hands: Sequence[Hand]) -> Iterator[str]:
    """The way back as comments: who runs the file must not run it."""
    back = [(move, hand) for move, hand in reversed(hands) if hand.undo]
    if back:
        yield comment("The way back of each move; what comes before and after all of them is as above:")
    for move, hand in back:
        to = "" if makes_or_drops_space(move.route) else f" back to {move.from_space}"
        yield comment(f"move {move.ordinal}: {move.what}{to}")
        yield from commented(hand.undo)
