"""When Python looks for garbage: seldom in a command, which ends soon; as usual in the daemon.

What a command imports stays until it ends. To look through all of it again and again, and once more at the end, takes
a fifth of the processor time of a command that reads the ledger.
"""

from __future__ import annotations

import gc

USUAL = gc.get_threshold()
SELDOM = (200_000, *USUAL[1:])  # objects that are made before young ones are looked through: a few tens of megabytes


def collect_seldom() -> None:
    """For a command."""
    gc.set_threshold(*SELDOM)


def collect_as_usual() -> None:
    """For what runs on."""
    gc.set_threshold(*USUAL)


def collect_no_more() -> None:
    """At the end: the system takes back all memory at once."""
    gc.freeze()
