"""The clock of simulated tests acts like the threads that it stands for."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.virtual_clock import VirtualClock


def test_what_repeats_in_the_background_is_not_called_while_it_runs() -> None:
    """An action that sleeps longer than its interval is not entered again from its own sleep."""
    clock = VirtualClock(datetime(2026, 1, 1, tzinfo=UTC))
    entered, inside, most = 0, 0, 0

    def act() -> None:
        nonlocal entered, inside, most
        entered, inside = entered + 1, inside + 1
        most = max(most, inside)
        clock.sleep(25.0)
        inside -= 1

    with clock.repeat_in_background(10.0, act):
        clock.sleep(60.0)
    assert (entered, most) == (2, 1)
