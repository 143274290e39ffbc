"""Where secrets come from, and that they never show."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from connectors.kit.settings import SecretSource, SecretUnavailable

WORD = "correct horse"


def test_a_secret_from_a_file_is_its_first_line(tmp_path: Path) -> None:
    """The rest of the file is not part of it, and printing it shows nothing."""
    place = tmp_path / "secret"
    place.write_text(f"{WORD}\nsecond line\n")
    secret = SecretSource(file=place).read()
    assert secret.get_secret_value() == WORD
    assert WORD not in repr(secret)


def test_a_secret_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable is read when the secret is needed, not when the configuration is."""
    source = SecretSource(env="HOTPLACE_TEST_SECRET")
    monkeypatch.setenv("HOTPLACE_TEST_SECRET", WORD)
    assert source.read().get_secret_value() == WORD


def test_a_secret_from_a_systemd_credential(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """LoadCredential= puts it into a folder that the environment names."""
    (tmp_path / "shop").write_text(WORD)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert SecretSource(credential="shop").read().get_secret_value() == WORD


@pytest.mark.parametrize("source", [{"env": "HOTPLACE_NOT_SET"}, {"file": "/nowhere/secret"}])
def test_a_missing_secret_names_the_place(source: dict[str, str]) -> None:
    """The error says where it looked and what to do."""
    place = next(iter(source.values()))
    with pytest.raises(SecretUnavailable, match=place) as caught:
        SecretSource.model_validate(source).read()
    assert caught.value.advice


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to other users")
def test_a_password_that_a_stranger_could_have_written_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither from a file nor from a folder of credentials; the message says who, and not what is in it."""
    (tmp_path / "shop").write_text(WORD)
    (tmp_path / "shop").chmod(0o602)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    for source in (SecretSource(file=tmp_path / "shop"), SecretSource(credential="shop")):
        with pytest.raises(SecretUnavailable, match="can be written by every user") as caught:
            source.read()
        assert WORD not in str(caught.value)
        assert "chmod go-w" in caught.value.advice


@pytest.mark.parametrize("source", [{}, {"env": "A", "file": "/b"}])
def test_exactly_one_place_is_named(source: dict[str, str]) -> None:
    """None or two places are a mistake in the configuration."""
    with pytest.raises(ValidationError, match="exactly one"):
        SecretSource.model_validate(source)
