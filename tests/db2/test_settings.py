"""Settings and what the driver is given."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from connectors.db2.settings import Db2Settings
from connectors.kit.contract import CannotConnect
from connectors.kit.settings import SecretSource


def settings(tmp_path: Path, password: str, **other: object) -> Db2Settings:
    """With a password in a file."""
    (tmp_path / "password").write_text(password)
    usual = {"host": "h", "dbname": "APP", "user": "u", "password": SecretSource(file=tmp_path / "password")}
    return Db2Settings.model_validate({**usual, **other})


def test_connection_string(tmp_path: Path) -> None:
    """CLI keywords only; the names that ibm_db_dbi looks for are in capitals."""
    given = settings(tmp_path, "pw", security="SSL", server_certificate="/c.arm", authentication="SERVER")
    assert given.connection_string(statement_seconds=30.2) == (
        "DATABASE=APP;HOSTNAME=h;PORT=50000;PROTOCOL=TCPIP;UID=u;PWD=pw;SECURITY=SSL;SSLServerCertificate=/c.arm;"
        "AUTHENTICATION=SERVER;ConnectTimeout=10;QueryTimeout=30;ClientApplName=hotplace;"
    )


def test_tls_with_a_keystore(tmp_path: Path) -> None:
    """GSKit's database and its stash, instead of one certificate; never the JDBC words, which the driver ignores."""
    given = settings(tmp_path, "pw", security="SSL", keystore="/etc/db2.kdb", keystore_stash="/etc/db2.sth")
    words = given.keywords(statement_seconds=1)
    assert words["SECURITY"] == "SSL"
    assert (words["SSLClientKeystoredb"], words["SSLClientKeystash"]) == ("/etc/db2.kdb", "/etc/db2.sth")
    assert "SSLServerCertificate" not in words
    assert not [word for word in words if "sslConnection" in word]


def test_kerberos_sends_no_password() -> None:
    """The ticket is the driver's business: AUTHENTICATION=KERBEROS, and no PWD at all."""
    given = Db2Settings.model_validate(
        {"host": "h", "dbname": "APP", "user": "u", "authentication": "KERBEROS", "target_principal": "db2/h@EXAMPLE"}
    )
    words = given.connection_string(statement_seconds=1)
    assert "AUTHENTICATION=KERBEROS;" in words
    assert "TargetPrincipal=db2/h@EXAMPLE;" in words
    assert "PWD=" not in words


def test_pitfall_31_a_time_limit_is_never_none(tmp_path: Path) -> None:
    """0 would mean no limit, so less than a second is one."""
    assert "QueryTimeout=1;" in settings(tmp_path, "pw").connection_string(statement_seconds=0.2)


def test_no_value_becomes_a_keyword(tmp_path: Path) -> None:
    """A semicolon would end a value and begin a keyword: it is refused, and the message holds no password."""
    with pytest.raises(CannotConnect) as caught:
        settings(tmp_path, "pw;SECURITY=").connection_string(statement_seconds=1)
    assert "PWD" in str(caught.value)
    assert "pw;" not in str(caught.value) + repr(caught.value)


def test_the_password_does_not_show(tmp_path: Path) -> None:
    """Neither in the settings nor in their words."""
    given = settings(tmp_path, "s3cret")
    assert "s3cret" not in repr(given) + str(given) + given.where()


def test_unknown_keys_are_refused() -> None:
    """As everywhere in the configuration."""
    with pytest.raises(ValidationError):
        Db2Settings.model_validate({"host": "h", "dbname": "d", "user": "u", "sslmode": "x"})


def test_durations() -> None:
    """As a person writes them."""
    given = Db2Settings.model_validate(
        {"host": "h", "dbname": "d", "user": "u", "move_timeout": "2h", "lock_timeout": "500ms"}
    )
    assert (given.move_timeout, given.lock_timeout) == (7200.0, 0.5)
    with pytest.raises(ValidationError):
        Db2Settings.model_validate({"host": "h", "dbname": "d", "user": "u", "move_timeout": "soon"})
