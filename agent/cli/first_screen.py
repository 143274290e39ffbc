"""What do I type first? The screen of ``hotplace`` without a command."""

from __future__ import annotations

from agent.config.errors import ConfigError, ForeignConfig
from agent.config.files import find_config

SCREEN = """\
hotplace finds the tables, indexes and partitions whose reads make sessions
wait for disk, and moves them to fast storage once you approve.

  try it     hotplace demo                a private PostgreSQL; about a minute
  set up     hotplace setup postgresql    makes logins and hotplace.yaml; asks
             hotplace doctor              what is missing, and what mends it
             hotplace run                 watches and proposes; dry run at first
  look       hotplace plan --observe 60   slow right now? watches for a minute,
                                          says what to move and why; changes
                                          nothing
             hotplace status              what runs, what waits for you, room
             hotplace units               the ranking; explain UNIT says why
             hotplace top                 live
  decide     hotplace show 3              the statements, locks and gain
             hotplace approve 3           and then it moves; reject, strike
             hotplace cancel 12           stop a move; undo takes one back
  look back  hotplace outcomes            predicted and measured; report

{here}
all commands and exit codes: hotplace --help; of one: hotplace plan --help
"""


def first_screen() -> str:
    """What to begin with, and whether there is a configuration here; at most 80 cells wide."""
    try:
        here = f"configuration: {find_config(None)}; begin with: hotplace status"
    except ForeignConfig as error:
        here = f"{error.source} {error.problems[0].message}"
    except ConfigError:
        here = "no configuration here yet; begin with: hotplace demo, or hotplace setup"
    return SCREEN.format(here=here)
