"""Names of time zones as people write them, and as nobody should."""

from __future__ import annotations

import pytest

from agent.config.errors import ConfigError
from agent.config.files import parse

TEXT = """
databases:
  - name: shop
    engine: simulated
    connection: {{scenario: oltp}}
    time_zone: '{name}'
    tiers: [{{name: ssd, spaces: [ssd]}}, {{name: hdd, spaces: [hdd]}}]
"""


@pytest.mark.parametrize("name", ["1" * 400, "../../etc/passwd", "/etc/localtime", "Europe", "Mars/Olympus", "UTC\\0"])
def test_what_names_no_zone_is_a_mistake_of_the_configuration(name: str) -> None:
    """Too long for a file, a path, a folder: the same sentence as for any other name."""
    with pytest.raises(ConfigError) as caught:
        parse(TEXT.format(name=name))
    assert any("time zone" in str(problem) for problem in caught.value.problems)


def test_a_zone_is_taken() -> None:
    """Otherwise the text above is right."""
    assert parse(TEXT.format(name="Europe/Berlin")).databases
