"""What the connection settings of all engines share: where a secret comes from, and that it never shows."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import BaseModel, ConfigDict, SecretStr, model_validator

from connectors.base import HotplaceError


class SecretUnavailable(HotplaceError):
    """The named environment variable, file or systemd credential holds no secret."""


class SecretSource(BaseModel):
    """One of four places a secret may come from; the configuration file itself is not one of them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    env: str | None = None  # name of an environment variable
    file: Path | None = None  # first line of a file
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
            SecretUnavailable: the place is empty or cannot be read; the message names the place only.
        """
        if self.env is not None:
            value = os.environ.get(self.env, "")
            where = f"environment variable {self.env}"
        else:
            path = self.file or Path(os.environ.get("CREDENTIALS_DIRECTORY", "/run/credentials")) / str(self.credential)
            where = f"file {path}"
            try:
                value = path.read_text(encoding="utf-8").partition("\n")[0]
            except OSError as error:
                raise SecretUnavailable(
                    f"cannot read the password from {where}: {error.strerror}",
                    advice="Create the file with mode 0600 for the user that runs hotplace.",
                ) from error
        if not value:
            raise SecretUnavailable(f"{where} is empty or not set", advice="Set it before starting hotplace.")
        return SecretStr(value)
