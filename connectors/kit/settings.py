"""What the connection settings of all engines share: durations, where a secret comes from, and that it never shows."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationInfo,
    model_validator,
)
from pydantic.fields import FieldInfo

from connectors.kit.contract import HotplaceError
from connectors.kit.files import advice_for, find_fault

ANSWER_MARGIN_SECONDS = 5.0  # beyond the time limit of a query
MOVE_MARGIN_SECONDS = 60.0  # beyond that of a statement of a move: rolling back takes its time
SECONDS_OF = {"us": 1e-6, "ms": 0.001, "s": 1.0, "sec": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(rf"(\d+(?:\.\d+)?)\s*({'|'.join(SECONDS_OF)})")


def parse_duration(value: object) -> float:
    """Seconds of a text such as ``500ms``, ``30s``, ``5min``, ``4h``.

    Raises:
        ValueError: it is something else, a number without a unit for instance.
    """
    match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"{value!r} is not a duration; write a number and a unit: 500ms, 30s, 5min, 4h, 1d")
    return float(match[1]) * SECONDS_OF[match[2]]


def parse_seconds_or_duration(value: object) -> object:
    """As ``parse_duration``; a number is a number of seconds, and all else is left to the next validator."""
    return parse_duration(value) if isinstance(value, str) else value


def answer_seconds(limit_seconds: float, most_margin: float = ANSWER_MARGIN_SECONDS) -> float:
    """How long an agent waits for the answer to a statement that its server ends after ``limit_seconds``.

    Longer by a margin for the answer to come: as long again as the limit, from one second to ``most_margin``. A server
    that is frozen, or behind a network that drops everything, ends nothing.

    >>> answer_seconds(30.0), answer_seconds(2.0)
    (35.0, 4.0)
    """
    return limit_seconds + min(most_margin, max(1.0, limit_seconds))


DurationWithUnit = Annotated[float, BeforeValidator(parse_duration), Field(gt=0)]
Duration = Annotated[float, BeforeValidator(parse_seconds_or_duration), Field(gt=0)]


def as_read_again(field: FieldInfo, value: object) -> object:
    """A value of that field in a form that its own validators take once more."""
    with_unit = any(isinstance(each, BeforeValidator) and each.func is parse_duration for each in field.metadata)
    return f"{round(1e6 * value)}us" if with_unit and isinstance(value, float) else value


def _resolve(path: Path, info: ValidationInfo) -> Path:
    folder = (info.context or {}).get("folder")
    return Path(os.path.abspath(folder / path.expanduser())) if folder else path  # noqa: PTH100  # keep symlinks


ConfigPath = Annotated[Path, AfterValidator(_resolve)]
"""A path of a configuration: a relative one is meant from the folder of its file, wherever hotplace is started."""


class SecretUnavailable(HotplaceError):
    """The named environment variable, file or systemd credential holds no secret."""


class SecretSource(BaseModel):
    """One of four places a secret may come from; the configuration file itself is not one of them."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    env: str | None = None  # name of an environment variable
    file: ConfigPath | None = None  # first line of a file
    credential: str | None = None  # name of a systemd credential (LoadCredential=)

    @model_validator(mode="after")
    def _exactly_one(self) -> SecretSource:
        given = [name for name in ("env", "file", "credential") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"name exactly one of env, file, credential; given: {', '.join(given) or 'none'}")
        return self

    def read(self) -> SecretStr:
        """The secret, read now so that a rotated one is picked up at the next connection.

        Raises:
            SecretUnavailable: the place is empty, cannot be read, or could be another user's.
        """
        if self.env is not None:
            value, where = os.environ.get(self.env, ""), f"environment variable {self.env}"
        else:
            path = self.file or Path(os.environ.get("CREDENTIALS_DIRECTORY", "/run/credentials")) / str(self.credential)
            value, where = _first_line(path), f"file {path}"
        if not value:
            raise SecretUnavailable(f"{where} is empty or not set", advice="Set it before starting hotplace.")
        return SecretStr(value)


def _first_line(path: Path) -> str:
    """The first line of a file that only root or the caller can have written.

    Raises:
        SecretUnavailable: it cannot be read, or could be another user's, who would have his own password tried.
    """
    try:
        fault = find_fault(path)
        value = "" if fault else path.read_text(encoding="utf-8").partition("\n")[0]
    except OSError as error:
        raise SecretUnavailable(
            f"cannot read the password from file {path}: {error.strerror}",
            advice="Create the file with mode 0600 for the user that runs hotplace.",
        ) from error
    if fault:
        raise SecretUnavailable(f"the password in file {path} is not used: {fault}", advice=advice_for(path))
    return value
