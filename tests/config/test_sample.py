"""The configuration that ``hotplace init`` writes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.config.files import parse
from agent.config.models import Level
from agent.config.sample import sample
from connectors.kit.contract import UnknownEngine
from connectors.kit.registry import engine_names, find_engine
from policies.model.settings import PolicySettings


@pytest.mark.parametrize("engine", engine_names())
def test_the_sample_of_each_engine_loads_as_it_is(engine: str) -> None:
    """Nothing has to be filled in before it is valid, and it acts on nothing."""
    config = parse(sample(engine))
    database = config.database()
    assert (database.engine, database.engine_record) == (engine, find_engine(engine))
    assert isinstance(database.connection, find_engine(engine).settings)
    assert (config.level, config.dry_run) == (Level.PROPOSE, True)


@pytest.mark.parametrize("engine", engine_names())
def test_the_sample_says_the_true_defaults(engine: str) -> None:
    """The numbers it calls defaults are those of the policies, and of the engine where it has its own."""
    share = find_engine(engine).prefetched_wait_share
    plain = PolicySettings()
    expected = plain if share is None else replace(plain, prefetched_wait_share=share)
    assert parse(sample(engine)).database().policy_settings() == expected


@pytest.mark.parametrize("engine", engine_names())
def test_what_the_sample_comments_out_is_valid_too(engine: str) -> None:
    """Whoever removes the # from the shown alternatives has a valid file still."""
    text = sample(engine)
    for shown, instead in (
        ("        # spaces: [{", f"        spaces: [{find_engine(engine).sample_spaces[0]}]\n"),
        ("        # random_read:", ""),
        ("        # sequential_read:", ""),
        ("        # write:", ""),
        ("        # read_ahead:", ""),
    ):
        assert shown in text
        text = text.replace(instead, "", 1).replace(shown, shown.replace("# ", ""), 1)
    tail = text.index("    pins: []")
    text = text[:tail] + "".join(line.replace("# ", "", 1) for line in text[tail:].splitlines(keepends=True)[1:])
    database = parse(text).database()
    assert database.tiers[0].spaces[0].capacity == 200 * 2**30
    assert database.pins[0].reason == "month-end report"


def test_the_sample_of_no_engine_names_the_nearest() -> None:
    """A slip in the engine's name is answered with the right one."""
    with pytest.raises(UnknownEngine, match="did you mean 'postgresql'"):
        sample("postgres")
