"""Who is told of what: the part ``notices`` of the configuration."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from agent.config.quantities import Count, Name, Part, Seconds
from connectors.settings import SecretSource


class NoticeEvent(StrEnum):
    """What people can be told of."""

    PROPOSAL = "proposal"  # one waits for a decision
    EXPIRING = "expiring"  # one that waits has a quarter of its time left
    FAILED = "failed"  # a move failed or was skipped
    HURT = "hurt"  # an outcome is worse than before, for all together or for some statements
    RULE = "rule"  # a standing rule was closed: nothing more is approved under it
    STALLED = "stalled"  # a database is not sampled any more, or the ledger is not trusted
    FILLING = "filling"  # a space of a tier is nearly full


class WebhookConfig(Part):
    """An HTTP POST. The address is a secret: whoever has it can write to the channel."""

    url: SecretSource
    format: Literal["json", "slack", "teams"] = "json"
    signing_key: SecretSource | None = None  # for an HMAC over time and body, see the page on notices


class MailConfig(Part):
    """A message by SMTP."""

    host: Name
    port: Count = Field(default=587, ge=1, le=65535)
    encryption: Literal["starttls", "tls", "none"] = "starttls"
    user: Name | None = None
    password: SecretSource | None = None
    sender: Name = Field(alias="from")
    recipients: tuple[Name, ...] = Field(alias="to", min_length=1)

    @model_validator(mode="after")
    def _a_user_has_a_password(self) -> Self:
        if (self.user is None) != (self.password is None):
            raise ValueError("give both user and password, or neither")
        if self.user is not None and self.encryption == "none":
            raise ValueError("a password is not sent unencrypted: encryption is starttls or tls, or leave user out")
        return self


class NoticeConfig(Part):
    """One channel."""

    name: Name
    events: tuple[NoticeEvent, ...] = tuple(NoticeEvent)
    every_seconds: Seconds = Field(default=60.0, alias="every", ge=0)  # between two messages at least; what came
    # meanwhile is one message
    webhook: WebhookConfig | None = None
    mail: MailConfig | None = None
    command: tuple[Name, ...] | None = Field(default=None, min_length=1)  # program and arguments; JSON on its input

    @model_validator(mode="after")
    def _exactly_one_way(self) -> Self:
        given = [key for key in ("webhook", "mail", "command") if getattr(self, key) is not None]
        if len(given) != 1:
            raise ValueError(f"name exactly one of webhook, mail, command; given: {', '.join(given) or 'none'}")
        if self.command and not Path(self.command[0]).is_absolute():
            raise ValueError(f"command begins with the absolute path of a program, not {self.command[0]!r}")
        return self
