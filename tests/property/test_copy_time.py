"""What holds of the time of every copy."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from connectors.model.moves import Transfer
from policies.evidence.costs import MOST_FACTOR, Device, copy_factors, transfer_seconds
from policies.model.settings import PolicySettings, TaughtCopy, TierSpeed

SETTINGS = PolicySettings()
SIZES = st.integers(0, 2**45)


@st.composite
def devices(draw: st.DrawFn) -> Device:
    """A device with no queue, a short one or a long one."""
    idle = draw(st.floats(1e-5, 0.02))
    speed = TierSpeed(
        random_read_seconds=idle * draw(st.floats(1.0, 50.0)),
        sequential_read_seconds=idle * draw(st.floats(0.001, 1.0)),
        write_seconds=idle,
        idle_read_seconds=draw(st.sampled_from([0.0, idle])),
        read_ahead_bytes=draw(st.integers(2**12, 2**24)),
    )
    return Device(speed, draw(st.floats(0.0, 200.0)))


@given(devices(), SIZES, SIZES, st.booleans())
def test_more_bytes_never_take_less_time(device: Device, one: int, other: int, written: bool) -> None:
    """Read or written, under any load."""
    few, many = (
        transfer_seconds(Transfer(space="s", bytes=size, written=written), device, SETTINGS)
        for size in sorted((one, other))
    )
    assert 0.0 <= few <= many


@given(devices(), SIZES, st.floats(0.0, 100.0), st.floats(1.0, 20.0))
def test_more_load_never_takes_less_time(device: Device, size: int, more: float, slower: float) -> None:
    """Neither more sessions at the device nor a longer queue, nor a shorter stretch of read-ahead."""
    transfer = Transfer(space="s", bytes=size)
    now = transfer_seconds(transfer, device, SETTINGS)
    eager = replace(device, waiting=device.waiting + more)
    assert now <= transfer_seconds(transfer, eager, SETTINGS)
    speed = device.speed
    if speed.idle_read_seconds:  # the run is told apart from its queue
        queued = replace(
            speed,
            random_read_seconds=speed.random_read_seconds * slower,
            sequential_read_seconds=speed.sequential_read_seconds * slower,
        )
        assert now <= transfer_seconds(transfer, replace(device, speed=queued), SETTINGS) * (1 + 1e-9)
    short = replace(device, speed=replace(speed, read_ahead_bytes=speed.read_ahead_bytes // 2))
    assert now <= transfer_seconds(transfer, short, SETTINGS)


@given(
    st.lists(
        st.builds(
            TaughtCopy,
            st.tuples(st.sampled_from("ab"), st.sampled_from("cd"), st.just("e")),
            st.floats(1e-3, 1e5),
            st.floats(1e-3, 1e5),
        ),
        max_size=30,
    )
)
def test_a_factor_lies_between_what_was_said_and_what_was_seen(taught: list[TaughtCopy]) -> None:
    """Whatever moves took: never beyond the furthest of them, never beyond the most that is believed."""
    ratios = [1.0, *(each.seconds / each.predicted_seconds for each in taught)]
    low, high = max(min(ratios), 1 / MOST_FACTOR), min(max(ratios), MOST_FACTOR)
    for each in copy_factors(taught):
        assert low * (1 - 1e-9) <= each.factor <= high * (1 + 1e-9)
