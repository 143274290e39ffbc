"""The live screen as lines of text: pure, from a picture and a view to exactly as many lines as the terminal has."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import NamedTuple

from rich.cells import cell_len, chop_cells
from rich.text import Text

from agent.cli.live_picture import ScreenPicture
from agent.cli.live_view import Choice, Listing, RowKind, ScreenPage, View
from agent.cli.under_way import progress_text
from agent.ledger.rows import MoveRow, ProposalRow
from agent.model.answers.watching import RoomOfSpace
from agent.model.states import EXPIRABLE, UNFINISHED, ProposalState
from agent.model.summary import gain_in_a_line
from agent.planning.ranking import Ranking
from agent.service.sending import Hindrance
from agent.terminal.columns import GAP, Column
from agent.terminal.tables import DOTS, SHORTEST_NAME, fit_columns, shorten_name, widths_of, wrap
from agent.terminal.text_plots import sparkline
from agent.terminal.wording import question, short_digest, state_text
from connectors.model.formatting import (
    format_bytes,
    format_ratio,
    format_seconds,
    format_sessions,
    format_wait,
    printable,
)

KEYS = "enter explain  a approve  p pause  u undo  s sort  / filter  ? help  q quit"
PAGE_KEYS = "arrows, j, k and space scroll  esc back"
CHOSEN, NOT_CHOSEN = "> ", "  "  # before each row: seen without colours too
BOLD, DIM, BAD, INVERSE = "bold", "dim", "bold red", "reverse"
HIGH = 40  # lines from which there is room for more than the least
PROPOSAL_COLUMNS = (
    Column("proposal", number=True), Column("digest", leaves=1), Column("for", name=True, leaves=3),
    Column("moves", number=True),
    Column("size", number=True, leaves=2), Column("saves", number=True), Column("state"),
)  # fmt: skip
MOVE_COLUMNS = (
    Column("move", number=True), Column("unit", name=True), Column("to", name=True),
    Column("size", number=True, leaves=2), Column("state"), Column("how far", leaves=1),
)  # fmt: skip
UNIT_COLUMNS = (
    Column("unit", name=True), Column("tier"), Column("size", number=True, leaves=2),
    Column("sync/s", number=True, leaves=4),
    Column("prefetch/s", number=True, leaves=6), Column("miss", number=True, leaves=5), Column("benefit", number=True),
    Column("saved", number=True, leaves=3), Column("heat", leaves=1), Column("verdict"),
)  # fmt: skip


class Line(NamedTuple):
    """One line of the screen and how it is drawn."""

    text: str
    style: str = ""


class ScreenPart(NamedTuple):
    """Rows of one kind on the screen."""

    first: int  # of the listing's rows of this kind
    shown: int


class Parts(NamedTuple):
    """How the rows of the screen are shared."""

    proposals: ScreenPart
    moves: ScreenPart
    units: ScreenPart


def draw(
    picture: ScreenPicture,
    listing: Listing,
    view: View,
    width: int,
    height: int,
    *,
    others: int = 0,
    blocks: bool = True,
) -> list[Line]:
    """Exactly ``height`` lines, none wider than ``width`` cells.

    Args:
        picture: what is known.
        listing: its rows as the view filters and sorts them.
        view: what is chosen and shown.
        width: cells of the terminal.
        height: its lines.
        others: databases that are not shown.
        blocks: whether the terminal has characters for curves.
    """
    if view.page is not None and view.page.lines:
        return _fit(_page(view.page, width, height), [], width, height)
    head = _head(picture, width, others, blocks=blocks)
    foot = [*_detail(picture, listing, view, width, height, blocks=blocks), _status(listing, view), Line(KEYS, DIM)]
    parts = share_rows(listing, view.chosen, height, len(head) + len(foot))
    body = [*head, *_proposals(picture, listing, parts.proposals, view, width)]
    body += _moves(picture, listing, parts.moves, view, width)
    body += _units(picture, listing, parts.units, view, width, blocks=blocks)
    return _fit(body, foot, width, height)


def share_rows(listing: Listing, chosen: Choice | None, height: int, taken: int) -> Parts:
    """Which rows are shown: of proposals and moves a few, of units as many as are left; the chosen one always.

    Args:
        listing: all rows.
        chosen: the row that has to be seen.
        height: lines of the screen.
        taken: lines that are no rows.
    """
    headings = sum(map(bool, (listing.proposals, listing.moves))) + 1
    room = max(1, height - taken - headings)
    proposals = min(len(listing.proposals), max(1, room // 5))
    moves = min(len(listing.moves), max(1, room // 3))
    units = max(0, room - proposals - moves)
    if len(listing.units) < units:  # what units leave, moves may have
        moves = min(len(listing.moves), moves + units - len(listing.units))
    place = listing.place_of(chosen)
    in_moves = place - len(listing.proposals)
    in_units = in_moves - len(listing.moves)
    return Parts(
        _part(len(listing.proposals), proposals, place),
        _part(len(listing.moves), moves, in_moves),
        _part(len(listing.units), units, in_units),
    )


def _part(count: int, shown: int, chosen: int) -> ScreenPart:
    """So many of some rows, from the first one on unless the chosen one lies below them."""
    first = max(0, min(chosen, count - 1) - shown + 1) if 0 <= chosen < count else 0
    return ScreenPart(first, min(shown, count - first))


def shown_units(listing: Listing, parts: Parts) -> list[str]:
    """Keys of the units that are on the screen."""
    if listing.ranking is None:
        return []
    rows = listing.units[parts.units.first : parts.units.first + parts.units.shown]
    return [listing.ranking.key[int(row)] for row in rows]


def page_lines(page: ScreenPage, width: int) -> list[str]:
    """All lines of a page for a screen of that width."""
    return [part for line in page.lines for part in wrap(printable(line), width)]


def last_top(page: ScreenPage | None, width: int, height: int) -> int:
    """The last line of a page that can stand at the top."""
    return 0 if page is None else max(0, len(page_lines(page, width)) - _page_room(page, width, height))


# -- parts of the screen ---------------------------------------------------------------------------------------------


def _head(picture: ScreenPicture, width: int, others: int, *, blocks: bool) -> list[Line]:
    clock = picture.at.astimezone().strftime("%H:%M:%S")
    more = f", tab: {others} more" if others else ""
    title = f"{picture.database} ({picture.engine}{more}): {_daemon(picture)}"
    lines = [Line(_sides(title, clock, width), BOLD)]
    status, sending = picture.daemon.status, picture.sending
    if not sending.is_said_beside:
        lines.append(Line(sending.sentence, DIM if sending.hindrance is Hindrance.DRY_RUN else BAD))
    if status is not None and status.error:
        lines.append(Line(status.error, BAD))
    lines += [Line(_waits(picture, blocks=blocks)), Line(_rooms(picture)), Line(picture.under_way.window), Line("")]
    return [line for line in lines if line.text or line is lines[-1]]


def _daemon(picture: ScreenPicture) -> str:
    daemon = picture.daemon
    if daemon.age_seconds is None or daemon.word == "stopped":
        return "no daemon runs; start it with: hotplace run"
    return f"daemon {daemon.word}, heard of {format_seconds(daemon.age_seconds)} ago"


def _waits(picture: ScreenPicture, *, blocks: bool) -> str:
    """Measured waits now, and how they went."""
    now = picture.waiting_now
    if math.isnan(now):
        return "read wait: not measured yet"
    curve = sparkline(picture.waits, blocks=blocks)
    return f"read wait: {format_wait(now * 3600)}  {curve.strip()} {_span(picture.span)}"


def _span(span: timedelta) -> str:
    return f"over {format_seconds(span.total_seconds())}"


def _rooms(picture: ScreenPicture) -> str:
    """How full each space is, fastest tier first."""
    status = picture.daemon.status
    rooms = () if status is None else status.spaces or ()
    return "   ".join(room_text(room) for room in rooms if room.tier is not None)


def room_text(room: RoomOfSpace) -> str:
    """How full the volume of a space is, and what is left of it."""
    named = f"{room.tier}" if room.tier == room.space else f"{room.tier} {room.space}"
    if room.fill_ratio is None or room.free_bytes is None:
        return f"{named}: not known" if room.used_bytes is None else f"{named}: {format_bytes(room.used_bytes)} own"
    return f"{named}: {format_ratio(room.fill_ratio)} full, {format_bytes(room.free_bytes)} free"


def _proposals(picture: ScreenPicture, listing: Listing, part: ScreenPart, view: View, width: int) -> list[Line]:
    rows = listing.proposals[part.first : part.first + part.shown]
    cells = [_proposal_cells(picture, row) for row in rows]
    choices = [Choice(RowKind.PROPOSAL, str(row.id)) for row in rows]
    lines = _table(PROPOSAL_COLUMNS, cells, choices, listing, view, width)
    return _count_text(lines, part, len(listing.proposals), width)


def _proposal_cells(picture: ScreenPicture, row: ProposalRow) -> tuple[str, ...]:
    proposal = row.proposal
    return (
        str(row.id), short_digest(row.digest), question(proposal), str(len(proposal.moves)),
        format_bytes(proposal.bytes_moved), format_sessions(proposal.wait_saved_per_hour), _state(picture, row),
    )  # fmt: skip


def _state(picture: ScreenPicture, row: ProposalRow) -> str:
    """What a proposal waits for, in a few words."""
    states = {move.state for move in picture.moves if move.proposal_id == row.id}
    if row.state is ProposalState.PROPOSED or states & EXPIRABLE:
        left = format_seconds(max(0.0, (row.proposal.expires_at - picture.at).total_seconds()))
        return f"{row.state}, ends in {left}"
    return "under way" if states & UNFINISHED else "carried out"


def _moves(picture: ScreenPicture, listing: Listing, part: ScreenPart, view: View, width: int) -> list[Line]:
    rows = listing.moves[part.first : part.first + part.shown]
    cells = [_move_cells(picture, row) for row in rows]
    choices = [Choice(RowKind.MOVE, str(row.id)) for row in rows]
    return _count_text(_table(MOVE_COLUMNS, cells, choices, listing, view, width), part, len(listing.moves), width)


def _move_cells(picture: ScreenPicture, row: MoveRow) -> tuple[str, ...]:
    running = picture.under_way.running
    far = progress_text(running) if running is not None and running.move == row.id else ""
    size = format_bytes(row.move.size_bytes)
    return (str(row.id), row.move.what, row.move.to_space, size, state_text(row.state), far)


def _units(
    picture: ScreenPicture, listing: Listing, part: ScreenPart, view: View, width: int, *, blocks: bool
) -> list[Line]:
    ranking = listing.ranking
    if ranking is None:
        return [Line("no unit is ranked yet: the daemon ranks with its second sample", DIM)]
    rows = [int(row) for row in listing.units[part.first : part.first + part.shown]]
    cells = [_unit_cells(picture, ranking, row, blocks=blocks) for row in rows]
    choices = [Choice(RowKind.UNIT, ranking.key[row]) for row in rows]
    lines = _table(UNIT_COLUMNS, cells, choices, listing, view, width, always=True)
    return _count_text(lines, part, len(listing.units), width)


def _unit_cells(picture: ScreenPicture, ranking: Ranking, row: int, *, blocks: bool) -> tuple[str, ...]:
    tier, heat = int(ranking.tier[row]), picture.heat.get(ranking.key[row], ())
    return (
        ranking.key[row], ranking.tier_names[tier] if tier >= 0 else "not managed",
        format_bytes(int(ranking.size_bytes[row])), f"{ranking.sync_reads[row]:,.1f}",
        f"{ranking.prefetched_reads[row]:,.1f}", format_ratio(float(ranking.miss_ratio[row])),
        format_sessions(float(ranking.benefit_per_hour[row])), format_sessions(float(ranking.saved_if_moved[row])),
        sparkline(heat, blocks=blocks), ranking.verdict_code(row),
    )  # fmt: skip


def _detail(
    picture: ScreenPicture, listing: Listing, view: View, width: int, height: int, *, blocks: bool
) -> list[Line]:
    """What there is to say about the chosen row, in a few lines: said once, and not in every row."""
    most = 2 if height < HIGH else 4
    said = wrap(printable(_say(picture, listing, view.chosen, blocks=blocks)), width)
    if len(said) > most:
        said = [*said[: most - 1], said[most - 1][: width - len(DOTS)] + DOTS]
    return [Line(line) for line in (*said, *[""] * (most - len(said)))]


def _say(picture: ScreenPicture, listing: Listing, chosen: Choice | None, *, blocks: bool) -> str:
    if not len(listing):
        return ""
    chosen = listing.at(listing.place_of(chosen))
    if chosen.kind is RowKind.PROPOSAL and (proposal := listing.proposal(chosen.name)):
        return f"{question(proposal.proposal)}; {gain_in_a_line(proposal.proposal)}"
    if chosen.kind is RowKind.MOVE and (move := listing.move(chosen.name)):
        return picture.under_way.line(move)
    ranking, place = listing.ranking, listing.place_of(chosen) - len(listing.proposals) - len(listing.moves)
    if ranking is None:
        return ""
    row = int(listing.units[place])
    said = ranking.sentence[row] if row < len(ranking.sentence) else f"{chosen.name}: {ranking.verdict_code(row)}"
    inside = picture.insides.get(chosen.name)
    return said if inside is None else f"{sparkline(inside, blocks=blocks)} by blocks, first to last (enter). {said}"


def _status(listing: Listing, view: View) -> Line:
    """A message, what is being typed, or how the units are shown."""
    if view.message:
        return Line(view.message, BOLD)
    if view.page is not None and view.page.question is not None:
        return Line(f"{view.page.question.prompt}{view.page.typed}_", BOLD)
    if view.seeking:
        return Line(f"filter: {view.sought}_  enter keeps it, esc drops it", BOLD)
    sought = f", filtered by {view.sought!r} (esc shows all)" if view.sought else ""
    return Line(f"{len(listing.units)} units by {view.sort}; benefit, saved: waiting sessions{sought}", DIM)


def _page(page: ScreenPage, width: int, height: int) -> list[Line]:
    room, lines = _page_room(page, width, height), page_lines(page, width)
    top = min(page.top, max(0, len(lines) - room))
    below = len(lines) - top - room
    title = _sides(page.title, f"{below} more below" if below > 0 else "", width)
    shown = [Line(line) for line in lines[top : top + room]]
    shown += [Line("")] * (room - len(shown))
    asked = [Line(line, BOLD) for line in _prompt(page, width)]
    return [Line(title, BOLD), *shown, *asked, Line(PAGE_KEYS, DIM)]


def _prompt(page: ScreenPage, width: int) -> list[str]:
    return [] if page.question is None else wrap(f"{page.question.prompt}{page.typed}_", width)


def _page_room(page: ScreenPage, width: int, height: int) -> int:
    """Lines of the screen for those of a page."""
    return max(1, height - 2 - len(_prompt(page, width)))


# -- lines -----------------------------------------------------------------------------------------------------------


def _table(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], choices: Sequence[Choice], listing: Listing, view: View,
    width: int, *, always: bool = False,
) -> list[Line]:  # fmt: skip
    """Rows below their titles, as many columns as there is room for; nothing where there are no rows."""
    if not rows and not always:
        return []
    cells = [[printable(cell) for cell in row] for row in rows]
    heading, *lines = lay_out(columns, cells, width - len(CHOSEN))
    chosen = listing.at(listing.place_of(view.chosen)) if len(listing) else None
    marked = ((choice == chosen, line) for choice, line in zip(choices, lines, strict=True))
    return [
        Line(NOT_CHOSEN + heading, DIM),
        *(
            Line((CHOSEN if is_chosen else NOT_CHOSEN) + line, INVERSE if is_chosen else "")
            for is_chosen, line in marked
        ),
    ]


def _count_text(lines: list[Line], part: ScreenPart, count: int, width: int) -> list[Line]:
    """The lines with which rows they are in the first one, where not all of them are there and there is room."""
    if not lines or part.shown >= count:
        return lines
    which = f"{part.first + 1}-{part.first + part.shown} of {count}"
    if cell_len(lines[0].text.rstrip()) + cell_len(which) >= width:
        return lines
    return [Line(_sides(lines[0].text.rstrip(), which, width), lines[0].style), *lines[1:]]


def lay_out(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """The titles and the rows as one line each; the least important columns leave, and names give way."""
    # Texts count as numbers here: each row is one line, so no row can be folded.
    fit = fit_columns([replace(column, number=not column.name) for column in columns], rows, width)
    kept = [at for at, column in enumerate(columns) if not column.leaves] if fit is None else list(fit.kept)
    name_width = SHORTEST_NAME if fit is None else fit.name_width
    lines = [[columns[at].title for at in kept]]
    lines += [[shorten_name(row[at], name_width) if columns[at].name else row[at] for at in kept] for row in rows]
    widths = widths_of([columns[at] for at in kept], lines)
    return [
        GAP.join(
            " " * (size - cell_len(cell)) + cell if columns[at].number else cell + " " * (size - cell_len(cell))
            for at, size, cell in zip(kept, widths, line, strict=True)
        )
        for line in lines
    ]


def _sides(left: str, right: str, width: int) -> str:
    """Two texts at both ends of a line."""
    left = cut(left, max(0, width - cell_len(right) - 1))
    return left + " " * max(1, width - cell_len(left) - cell_len(right)) + right


def cut(text: str, width: int) -> str:
    """The text in so many cells."""
    if cell_len(text) <= width:
        return text
    return chop_cells(text, width)[0] if width > 0 else ""


def _fit(body: Sequence[Line], foot: Sequence[Line], width: int, height: int) -> list[Line]:
    """Exactly so many lines of so many cells: what is left over between both stays empty."""
    room = max(0, height - len(foot))
    lines = [*body[:room], *[Line("")] * (room - len(body)), *foot[-height:]]
    return [Line(cut(printable(line.text), width), line.style) for line in lines]


def as_text(lines: Iterable[Line]) -> Text:
    """The lines as Rich draws them."""
    return Text("\n").join(Text(line.text, style=line.style, no_wrap=True, end="") for line in lines)
