"""What is recorded of an engine and replayed through its connector comes to the same plan."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent.cli.plan_answer import plan_found
from agent.studies.recordings import LastPlan, head_of, names_of
from agent.studies.simulation import play_recording
from agent.terminal.output import plain_value
from connectors.kit.recorded_columns import HashedNames, Names, RealNames, table_of
from connectors.kit.recording_file import End, Mark, RecordingReader, Writer
from tests.contract.harness import PlayTable
from tests.recordings.scene import Scene


def document_of(last: LastPlan) -> str:
    """The plan with its moves and statements, and what it would be as it looks, to the letter."""
    assert last.planning is not None
    prospect = last.prospect.proposal if last.prospect is not None else None
    documents = [plan_found(last.planning, proposal) for proposal in (last.proposal, prospect)]
    return json.dumps(plain_value(documents), indent=1)


def figures_of(last: LastPlan) -> list[object]:
    """Of the whole plan, of each move in its order, and of the units: without a name."""
    assert last.planning is not None
    assert last.proposal is not None
    plan = plan_found(last.planning, None)
    moves = [
        (
            move.size_bytes,
            move.wait_saved_per_hour,
            move.copy_seconds,
            len(move.route.steps),
            len(move.route.bundle.unit_keys),
        )
        for move in last.proposal.moves
    ]
    sizes = sorted(last.planning.situation.units.size_bytes.tolist())  # a catalog may be in the order of names
    return [plan.wait_per_hour_seconds, plan.wait_saved_per_hour_seconds, moves, sizes]


def hashed_copy(path: Path, entry: dict[str, Any], names: Names) -> Path:
    """The recording as it would have been made with those names: from the same rows, by the same table."""
    reader, copy, table = RecordingReader(path), path.with_suffix(".hashed"), table_of(entry["engine"])
    assert table is not None
    writer = Writer(copy, {**head_of(entry, names), "began": reader.head["began"]})
    for event in reader.events():
        if isinstance(event, Mark):
            writer.write_mark(event)
        elif isinstance(event, End):
            writer.write_end(event)
        else:
            rows, dropped = table.rows(event.query, event.rows, names)
            assert not dropped
            values = table.values(event.query, event.values, names)
            writer.write_answer(replace(event, rows=tuple(rows), values=values))
    writer.close()
    return copy


def test_a_replay_comes_to_the_same_plan(scene: Scene, table: PlayTable, tmp_path: Path) -> None:
    """Plain names: the same to the letter, statements and times too. Hashed ones: the same moves, order and figures."""
    path, names = tmp_path / "shop.recording", names_of(scene.database, tmp_path / "names.key")
    recorded = scene.record(path, names_of(scene.database, None))
    assert not recorded.tally.dropped
    assert not recorded.tally.left_out
    assert recorded.last.samples >= 2
    with play_recording(path) as again:
        assert again.last.samples == recorded.last.samples
        assert document_of(again.last) == document_of(recorded.last)
        assert '"statements"' in document_of(again.last)
    hashed = hashed_copy(path, scene.entry, names)
    with play_recording(hashed) as again:
        assert figures_of(again.last) == figures_of(recorded.last)
        mine, theirs = recorded.last.proposal, again.last.proposal
        assert mine is not None
        assert theirs is not None
        target = mine.moves[0].to_space
        assert theirs.moves[0].to_space in {names.name(target), names.path(target)} - {target}
        assert isinstance(names, HashedNames)
        real = RealNames(names.known)
        assert [real.restore(move.key) for move in theirs.moves] == [move.key for move in mine.moves]
        assert [real.restore(move.to_space) for move in theirs.moves] == [move.to_space for move in mine.moves]
    assert table.name.upper().encode() not in gzip.decompress(hashed.read_bytes()).upper()
