"""Reports of every layout are read back to the figures that they were written with; nothing makes a reader crash."""

from __future__ import annotations

import math
import string
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.kit.assessment import UnusableFile
from connectors.oracle.report_formats import is_foreign, number, seconds
from connectors.oracle.report_observation import observe_report
from connectors.oracle.reports import parse_report
from tests.assess.written_reports import LAYOUTS, Listed, Space, Told, write
from tests.examples import examples

NAMES = st.text(string.ascii_uppercase, min_size=1, max_size=1).flatmap(
    lambda first: st.text(string.ascii_uppercase + string.digits + "_$", max_size=8).map(lambda rest: first + rest)
)
TENTHS = st.integers(1, 4000).map(lambda tenths: tenths / 10)
SPACES = st.builds(
    Space,
    name=NAMES,
    reads=st.integers(1, 5_000_000_000),
    read_ms=TENTHS,
    blocks=st.integers(10, 999).map(lambda tenths: tenths / 10),
    single_ms=TENTHS,
    writes=st.integers(0, 999_999_999),
)
SEGMENTS = st.builds(
    Listed, owner=NAMES, space=NAMES, name=NAMES, blocks=st.integers(1, 999_999_999), calls=st.integers(1, 99_999_999),
    part=st.one_of(st.just(""), NAMES), type=st.sampled_from(["TABLE", "INDEX", "LOB"]),
)  # fmt: skip
TOLD = st.builds(
    Told,
    seconds=st.integers(60, 600_000).map(lambda minutes: minutes * 6.0),
    spaces=st.lists(SPACES, min_size=1, max_size=6, unique_by=lambda io: io.name),
    events=st.just([("db file sequential read", 1_000_000, 5000.0), ("db file scattered read", 1000, 42.0)]),
    segments=st.lists(SEGMENTS, max_size=6, unique_by=lambda s: (s.owner, s.space, s.name, s.part, s.type)),
    db_time=st.one_of(st.none(), st.integers(60, 9_999_999).map(float)),
    transactions=st.integers(1, 99_999).map(lambda tenths: tenths / 10),
)


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=examples(15), deadline=None)
@given(told=TOLD)
def test_what_is_written_is_read(layout: str, told: Told) -> None:
    """Times, tablespaces, events and segments come back; an overflown cell is unknown or its rate, never 0."""
    found = parse_report("r", write(told, layout))
    assert found.seconds == pytest.approx(told.seconds, abs=0.31)
    assert found.database == told.database
    assert found.release == told.release
    assert found.transactions == pytest.approx(told.transactions)
    if told.db_time is not None:
        assert found.db_time == pytest.approx(told.db_time, abs=0.31)
    assert [io.name for io in found.tablespaces] == [io.name for io in told.spaces]
    for read, written in zip(found.tablespaces, told.spaces, strict=True):
        assert read.reads == pytest.approx(written.reads) or len(f"{written.reads:,}") > 14
        assert read.read_seconds == pytest.approx(written.read_ms / 1000)
        assert read.blocks_per_read == pytest.approx(written.blocks, abs=0.051)
        assert read.writes == pytest.approx(written.writes)
    assert found.events["db file sequential read"].count == 1_000_000
    assert found.events["db file sequential read"].seconds == pytest.approx(5000.0)
    if layout != "statspack9" and told.segments:
        blocks = {(s.owner, s.tablespace, s.name, s.part): value for s, value in found.lists["blocks"].values.items()}
        assert blocks == {(s.owner, s.space, s.name, s.part): s.blocks for s in told.segments}
        if layout != "statspack11":
            assert sorted(found.lists["requests"].values.values()) == sorted(float(s.calls) for s in told.segments)


@settings(max_examples=examples(60), deadline=None)
@given(told=TOLD, layout=st.sampled_from(LAYOUTS), cut=st.floats(0, 1), rubbish=st.text(max_size=30))
def test_a_damaged_report_is_refused_or_read(told: Told, layout: str, cut: float, rubbish: str) -> None:
    """Wherever a report is cut or spoilt, it is judged, or refused with its name: never anything else."""
    text = write(told, layout)
    at, refusals = int(len(text) * cut), list[UnusableFile]()
    for damaged in (text[:at], text[:at] + rubbish + text[at:], text[:at] + rubbish):
        try:
            observation = observe_report("spoilt.txt", damaged)
        except UnusableFile as error:
            refusals.append(error)
        else:
            assert bool((observation.demand.rates >= 0).all())
            assert bool((observation.least <= 1).all())
            assert bool((observation.most >= 1).all())
    assert all(str(error).startswith("spoilt.txt") and error.advice for error in refusals)


@settings(max_examples=examples(200), deadline=None)
@given(st.text(max_size=400))
def test_garbage_is_refused(text: str) -> None:
    """What begins like a report and goes on as anything is refused, with a sentence."""
    for begin in ("STATSPACK report for\n", "<html><h1>WORKLOAD REPOSITORY report for</h1>", ""):
        with pytest.raises(UnusableFile):
            parse_report("x", begin + text)


@pytest.mark.parametrize(
    ("change", "words", "line"),
    [
        (lambda _: "Lorem ipsum\n", "no Statspack or AWR report", 1),
        (lambda text: text.replace("60.00 (mins)", "60,00 (mins)"), "another language", 11),
        (lambda text: text[: text.index("USERS")], "was cut within Tablespace IO Stats: no End of Report", 0),
        (lambda text: text[: text.index("db file scattered")], "was cut within Foreground Wait Events", 0),
        (lambda text: text[: text.index("Tablespace IO")], "was cut: it has 18 lines and no End of Report", 18),
        (
            lambda text: text[: text.index("Tablespace IO")] + "End of Report\n",
            "the report is whole and has none of Tablespace IO Stats",
            19,
        ),
        (lambda text: text.replace("Elapsed", "Gone"), "between its snapshots", 0),
    ],
)
def test_an_unusable_report_says_why(change: object, words: str, line: int) -> None:
    """Not a report, truncated, another language, without its sections: each in words, with file and line."""
    told = Told(seconds=3600, spaces=[Space(name="USERS", reads=1000, read_ms=5.0)], db_time=7200)
    if "Foreground" in words:
        told = replace(told, events=[("db file sequential read", 1_000_000, 5.0), ("db file scattered read", 9, 1.0)])
    assert callable(change)
    with pytest.raises(UnusableFile, match=words) as refused:
        parse_report("dir/r.txt", change(write(told, "awr11")))
    assert str(refused.value).startswith("dir/r.txt")
    if line:
        assert f"line {line}:" in str(refused.value)


def test_an_empty_section_is_named() -> None:
    """A section without rows is no report of an idle database: it says that nothing was counted."""
    with pytest.raises(UnusableFile, match=r"r, line \d+: the section Tablespace IO Stats is empty"):
        parse_report("r", write(Told(seconds=3600, spaces=[]), "awr11"))


def test_overflown_cells_are_unknown() -> None:
    """A row of # is not zero: its reads are taken from their rate, its time is unknown."""
    told = Told(seconds=3600, spaces=[Space(name="BIG", reads=36_000, read_ms=5.0)])
    text = write(told, "awr11").replace("        36,000", "##############").replace("    5.0", "#######")
    (found,) = parse_report("r", text).tablespaces
    assert found.reads == pytest.approx(36_000)
    assert math.isnan(found.read_seconds)


@pytest.mark.parametrize("between", ["'", "\u2019", " ", "\xa0", "\ufffd"])
@pytest.mark.parametrize("layout", ["awr11", "awr19", "html19"])
def test_other_signs_between_thousands_are_refused(layout: str, between: str) -> None:
    """Also where the time between the snapshots has none: what is not read as a number is no 0."""
    told = Told(
        seconds=3600, spaces=[], counted=False, segments=[], events=[("db file sequential read", 1_234_567, 5.0)]
    )
    text = write(told, layout)
    assert "1,234,567" in text
    with pytest.raises(UnusableFile, match=f"another language's form: .1{between}?"):
        parse_report("r", text.replace("1,234,567", f"1{between}234{between}567"))


def test_an_event_whose_number_was_too_wide_keeps_its_time() -> None:
    """The number follows from the mean; where that is not there either, the event is named."""
    told = Told(
        seconds=3600, spaces=[Space(name="USERS", reads=1000, read_ms=5.0)],
        events=[("db file sequential read", 1_000_000, 5000.0), ("db file scattered read", 1000, 42.0)],
    )  # fmt: skip
    text = write(told, "html19")
    cells = "1,000,000</td><td class='awrc'>5,000</td>"
    assert cells in text
    wide = parse_report("r", text.replace(cells, cells.replace("1,000,000", "####")))
    assert wide.events == parse_report("r", text).events
    lost = parse_report("r", text.replace(cells, cells.replace("1,000,000", "####").replace("5,000", "####")))
    assert list(lost.events) == ["db file scattered read"]
    assert any("db file sequential read are not printed" in note for note in lost.notes)


@pytest.mark.parametrize("layout", ["awr19", "html19"])
def test_tables_of_two_containers_are_two(layout: str) -> None:
    """Of one owner, name and tablespace; of a single container none is named."""
    one = Listed(owner="APP", space="USERS", name="ORDERS", blocks=600, calls=500)
    two = replace(one, container="PDB2", blocks=400, calls=300)
    told = Told(
        seconds=3600, spaces=[], counted=False, segments=[one, two],
        events=[("db file sequential read", 800, 8.0)], all_calls=1000, all_blocks=1200,
    )  # fmt: skip
    keys = observe_report("r", write(told, layout)).catalog.units.key
    assert {"PDB1:APP.ORDERS", "PDB2:APP.ORDERS"} <= set(keys)
    assert "APP.ORDERS" in observe_report("r", write(replace(told, segments=[one]), layout)).catalog.units.key


def test_a_name_of_two_words_is_one_name() -> None:
    """Cells are cut by the ruler where each number then has its own, although there are as many words as columns."""
    told = Told(
        seconds=3600, spaces=[], counted=False, events=[("db file sequential read", 800, 8.0)],
        segments=[Listed(owner="APP", space="USERS", name="My Orders", blocks=600, calls=500)],
    )  # fmt: skip
    tops = parse_report("r", write(told, "awr19")).lists
    assert {(each.name, each.part) for top in tops.values() for each in top.values} == {("My Orders", "")}


def test_a_page_heading_without_a_ruler_is_no_name() -> None:
    """OUTPUT behind a blank line, between the names of a segment and its figures."""
    told = Told(
        seconds=3600, spaces=[], counted=False, events=[("db file sequential read", 800, 8.0)],
        segments=[Listed(owner="APP", space="USERS", name="LINES", blocks=600, calls=500)],
    )  # fmt: skip
    text = write(told, "awr19").replace("\nLINES ", "\n\nOUTPUT\nLINES ")
    tops = parse_report("r", text).lists
    assert {(each.owner, each.name) for top in tops.values() for each in top.values} == {("APP", "LINES")}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_two_reports_in_one_file_are_refused(layout: str) -> None:
    """With the line at which the second begins: its segments would get waits of the first."""
    told = Told(seconds=3600, spaces=[Space(name="USERS", reads=1000, read_ms=5.0)])
    text = write(told, layout)
    parse_report("r", text)
    with pytest.raises(UnusableFile, match=f"r, line {text.count(chr(10)) + 1}.*: a second report begins here"):
        parse_report("r", text + write(replace(told, database="OTHER"), layout).lstrip())


def test_a_wrapped_name_is_one_name() -> None:
    """SQL*Plus breaks a tablespace name that is too long for its column."""
    name = "A" * 30 + "_AND_MORE"
    text = write(Told(seconds=3600, spaces=[Space(name="X1", reads=10, read_ms=1.0)]), "awr11")
    (found,) = parse_report("r", text.replace("\nX1\n", f"\n{name[:30]}\n{name[30:]}\n")).tablespaces
    assert found.name == name


def test_numbers() -> None:
    """Suffixes are multiples of 1000, units of time are read, numbers of other languages are known as such."""
    assert number("1,234.5K") == 1_234_500
    assert number("2M") == 2_000_000
    assert math.isnan(number("#####"))
    assert math.isnan(number("N/A"))
    assert math.isnan(number(""))
    assert seconds("250.5us", "ms") == pytest.approx(250.5e-6)
    assert is_foreign("1.234.567")
    assert is_foreign("60,12")
    assert not is_foreign("1,234,567.1")
