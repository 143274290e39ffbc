"""Durations of the connection settings: text with a unit everywhere, bare seconds only where an engine takes them."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ValidationError

from connectors.kit.settings import Duration, DurationWithUnit, parse_duration


class Settings(BaseModel):
    """One setting of each kind."""

    lenient: Duration = 1.0
    strict: DurationWithUnit = 1.0


@pytest.mark.parametrize(
    ("text", "seconds"), [("500ms", 0.5), ("30s", 30), ("5min", 300), ("4h", 14400), (" 1.5 s ", 1.5)]
)
def test_durations_read_as_people_write_them(text: str, seconds: float) -> None:
    """A number and a unit, in both kinds of setting."""
    assert parse_duration(text) == pytest.approx(seconds)
    settings = Settings.model_validate({"lenient": text, "strict": text})
    assert settings.lenient == settings.strict == pytest.approx(seconds)


def test_bare_seconds_are_taken_only_where_allowed() -> None:
    """The strict kind refuses a number whose unit is a guess."""
    assert Settings.model_validate({"lenient": 12}).lenient == 12.0
    with pytest.raises(ValidationError, match="12 is not a duration; write a number and a unit"):
        Settings.model_validate({"strict": 12})


@pytest.mark.parametrize("wrong", ["soon", "12", "5 days", "0s"])
def test_what_is_no_duration_is_refused(wrong: str) -> None:
    """Neither kind takes a text without a known unit, or a limit of zero."""
    for name in ("lenient", "strict"):
        with pytest.raises(ValidationError):
            Settings.model_validate({name: wrong})
