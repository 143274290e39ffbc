"""Whether a move may begin: the decision never breaks a window or a cap, and never waits without a reason."""

from __future__ import annotations

from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from agent.planning.allowance import Admission, Limits, WindowNeed, decide, longest_seconds
from agent.sampling.experience import Used
from policies.model.calendar import Calendar
from tests.property.test_windows import calendars, instants

needs = st.builds(
    WindowNeed,
    key=st.just("public.orders"),
    bytes=st.integers(0, 1000),
    seconds=st.floats(0, 2e5),
    pausable=st.booleans(),
)
limits = st.builds(
    Limits,
    calendar=calendars,
    bytes=st.none() | st.integers(1, 1000),
    copy_seconds=st.none() | st.floats(1, 2e5),
)
used = st.builds(Used, st.integers(0, 1000), st.floats(0, 1e5))


@given(needs, limits, used, instants)
def test_what_begins_is_in_its_window_and_within_its_caps(
    need: WindowNeed, limit: Limits, so_far: Used, at: datetime
) -> None:
    """Promise 5: in a window, within both caps, and predicted to end in it unless it is held at its end."""
    decision = decide(need, limit, so_far, at)
    assert bool(decision.sentence) == (decision.answer is not Admission.START)
    if decision.answer is not Admission.START:
        return
    assert limit.calendar.contains(at)
    assert limit.bytes is None or so_far.bytes + need.bytes <= limit.bytes
    assert limit.copy_seconds is None or so_far.seconds + need.seconds <= limit.copy_seconds
    closes = limit.calendar.closes_at(at)
    fits = closes is None or at + timedelta(seconds=need.seconds) <= closes
    assert fits or (need.pausable and need.seconds > longest_seconds(limit.calendar, at))


@given(needs, calendars, instants)
def test_a_move_that_waits_begins_in_some_window(need: WindowNeed, calendar: Calendar, at: datetime) -> None:
    """WAIT is a promise: with nothing used, an opening of the next weeks lets it begin; NEVER is the other answer."""
    limit = Limits(calendar=calendar)
    decision = decide(need, limit, Used(0, 0.0), at)
    if decision.answer is Admission.WAIT:
        months = (at + timedelta(days=days) for days in range(0, 800, 40))  # most begin in the first: look no further
        openings = (opening for month in months for opening in calendar.openings(month, month + timedelta(days=40)))
        assert any(decide(need, limit, Used(0, 0.0), opening.start).answer is Admission.START for opening in openings)


@given(needs, limits, used, instants)
def test_less_is_never_refused_where_more_may_begin(
    need: WindowNeed, limit: Limits, so_far: Used, at: datetime
) -> None:
    """A smaller move in an emptier window may begin whenever the larger one may, if it is as easily held."""
    if decide(need, limit, so_far, at).answer is Admission.START and not need.pausable:
        smaller = WindowNeed(key=need.key, bytes=need.bytes // 2, seconds=need.seconds / 2, pausable=False)
        assert decide(smaller, limit, Used(so_far.bytes // 2, so_far.seconds / 2), at).answer is Admission.START
