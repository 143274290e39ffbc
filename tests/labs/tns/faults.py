"""What a test lets go wrong on the way to the emulated server."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field

from tests.labs.tns.backend import OracleError


@dataclass(slots=True)
class Faults:
    """What a test lets go wrong. ``when`` is a pattern searched in the statement."""

    drop: str = ""  # the connection breaks before the answer; the statement itself ran to its end
    drop_before: str = ""  # the connection breaks and the statement never ran
    silence: str = ""  # the statement ran, and nothing ever comes back
    delay: tuple[str, float] = ("", 0.0)
    fail: dict[str, OracleError] = field(default_factory=dict)

    def of(self, pattern: str, sql: str) -> bool:
        """Whether that pattern is set and found."""
        return bool(pattern) and re.search(pattern, sql, re.IGNORECASE | re.DOTALL) is not None

    def before(self, sql: str) -> None:
        """Raise or wait as ordered."""
        for pattern, error in self.fail.items():
            if self.of(pattern, sql):
                raise error
        if self.of(self.delay[0], sql):
            time.sleep(self.delay[1])
