"""Ctrl-C is never lost."""

from __future__ import annotations

import signal
import sys
import time
import weakref

import pytest

from agent.cli.main import keep_interrupts


class Thing:
    """Something that garbage is made of."""


def test_one_that_meets_a_callback_of_the_collector_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python prints such a one and goes on; here the command ends a moment later."""
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    keep_interrupts()
    thing = Thing()
    met = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGINT))
    del thing
    assert met() is None
    with pytest.raises(KeyboardInterrupt):
        time.sleep(5)
