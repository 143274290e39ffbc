"""Emulated server: ways in that a site may have, through the connector and its settings."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import oracledb
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from connectors.kit.contract import AuthenticationFailed, CannotConnect, LeaseHeld
from connectors.model.observation import Home
from connectors.oracle.connector import OracleConnector
from connectors.oracle.driver import load_driver
from connectors.oracle.settings import OracleSettings
from tests.contract.asking import route_to, run
from tests.labs.oracle.harness import AGENT, OWNER, PASSWORD, OracleHarness, furnished, running_harness
from tests.labs.tns.backend import OracleError
from tests.labs.tns.certificate import self_signed
from tests.labs.tns.server import serving


def _connector(lab: OracleHarness, settings: OracleSettings) -> OracleConnector:
    return OracleConnector(settings, lab.clock, load_driver(settings))


def test_tls_with_a_wallet(tmp_path: Path) -> None:
    """Emulated server: protocol tcps and a wallet folder are enough; without the wallet nothing is said at all."""
    database = furnished()
    with serving(database, self_signed(tmp_path)) as server:
        lab = OracleHarness("tls", database, server, tmp_path)
        safe = lab.settings(host="localhost", protocol="tcps", wallet_location=tmp_path)
        connector = _connector(lab, safe)
        assert connector.identify().database == "ORCLPDB1"
        connector.close()
        with pytest.raises(CannotConnect):
            _connector(lab, lab.settings(host="localhost", protocol="tcps")).identify()


@pytest.mark.parametrize("signed", [False, True], ids=["OAuth 2.0", "IAM"])
def test_the_driver_takes_a_token(tmp_path: Path, signed: bool) -> None:
    """Rule 9c: string and pair as the real driver wants them; over plain TCP it does not send either (DPY-2034)."""
    token = ".".join(base64.urlsafe_b64encode(part).decode() for part in (b"{}", b'{"exp": 99999999999}', b"signature"))
    place, key = tmp_path / "token", tmp_path / "oci_db_key.pem"
    place.write_text(f"{token}\n")
    key.write_text(_private_key())
    own: dict[str, Any] = {"authentication": "token", "token": {"file": str(place)}}
    if signed:
        own["token_key"] = key
    with running_harness("tokens") as lab:
        settings = OracleSettings(dsn=f"127.0.0.1:{lab.server.port}/orclpdb1", **own)
        with pytest.raises(CannotConnect) as caught:
            _connector(lab, settings).identify()
        assert caught.value.native_code == "DPY-2034"
        assert token not in str(caught.value)
        given = settings.connect_arguments()["access_token"]
        parameters = oracledb.ConnectParams(access_token=given)  # which refuses another form (DPY-2031)
        assert token not in repr(parameters)
    with pytest.raises(oracledb.Error, match="DPY-2031"):
        oracledb.ConnectParams(access_token=given[:1] if signed else 7)


def _private_key() -> str:
    """For the signature of an IAM token, as the identity service writes it next to the token."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    kinds = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(*kinds).decode()


def test_a_whole_descriptor() -> None:
    """Emulated server: a dsn with several addresses reaches the one that answers."""
    with running_harness("descriptor") as lab:
        addresses = "".join(f"(ADDRESS=(PROTOCOL=TCP)(HOST=127.0.0.1)(PORT={p}))" for p in (1, lab.server.port))
        dsn = f"(DESCRIPTION=(ADDRESS_LIST={addresses})(CONNECT_DATA=(SERVICE_NAME=orclpdb1)))"
        plain = lab.settings()
        connector = _connector(lab, OracleSettings(user=AGENT, password=plain.password, dsn=dsn))
        assert connector.identify().edition == "Enterprise"
        connector.close()


@pytest.mark.parametrize(
    "form",
    ["127.0.0.1:{port}/orclpdb1", "tcp://127.0.0.1:{port}/orclpdb1?expire_time=2&transport_connect_timeout=5"],
    ids=["easy connect", "plus"],
)
def test_a_connect_string(form: str) -> None:
    """Emulated server: EZConnect and EZConnect Plus, with parameters, are a dsn like any other."""
    with running_harness("strings") as lab:
        plain = lab.settings()
        dsn = form.format(port=lab.server.port)
        connector = _connector(lab, OracleSettings(user=AGENT, password=plain.password, dsn=dsn))
        assert connector.identify().database == "ORCLPDB1"
        connector.close()


def test_a_proxy_login_acts_as_the_owner() -> None:
    """Emulated server: hotplace[app] is the owner of the tables, once the owner lets it connect through."""
    with running_harness("proxy") as lab:
        with pytest.raises(CannotConnect):
            lab.connector(user=f"{AGENT}[{OWNER}]").identify()
        lab.database.users[OWNER].proxies.add(AGENT)
        settings = lab.settings()
        dsn = f"127.0.0.1:{settings.port}/{settings.service}"
        with oracledb.connect(user=f"{AGENT}[{OWNER}]", password=PASSWORD, dsn=dsn) as session:
            row = session.cursor().execute(
                "SELECT SYS_CONTEXT('USERENV', 'SESSION_USER'), SYS_CONTEXT('USERENV', 'PROXY_USER') FROM dual"
            ).fetchone()  # fmt: skip
        assert row == (OWNER, AGENT)
        _moves_as_owner(lab)


def _moves_as_owner(lab: OracleHarness) -> None:
    """With no ANY privilege at all: the owner may alter what is its own."""
    lab.database.users[AGENT].privileges -= {"ALTER ANY TABLE", "ALTER ANY INDEX"}
    lab.database.users[OWNER].privileges.add("SELECT ANY DICTIONARY")
    lab.database.users[OWNER].grants.add(("EXECUTE", "SYS.DBMS_LOCK"))
    table = lab.create("owned")
    connector = lab.connector(user=f"{AGENT}[{OWNER}]")
    try:
        assert "move_rights_missing" not in {finding.code for finding in connector.doctor()}
        route = route_to(connector, table.key, "FAST")
        run(connector, route)
        assert connector.inspect(route).home is Home.TARGET
    finally:
        connector.close()


@pytest.mark.parametrize("status", ["LOCKED", "LOCKED(TIMED)"])
def test_a_locked_account(status: str) -> None:
    """Emulated server: ORA-28000 is no reason to try again by oneself."""
    with running_harness("locked") as lab:
        lab.database.users[AGENT].status = status
        with pytest.raises(AuthenticationFailed) as caught:
            lab.connect().identify()
        assert caught.value.native_code == "ORA-28000"


def test_a_lease_ends_with_its_connection() -> None:
    """Emulated server: an agent whose connection is cut loses the lease, and the next one may have it."""
    with running_harness("lease") as lab:
        first, second = lab.connector(), lab.connector()
        lease = first.acquire_lease("first")
        with pytest.raises(LeaseHeld):
            second.acquire_lease("second")
        holder = next(iter(lab.database.user_locks.values()))
        lab.server.connection_of(holder).drop()
        assert not lease.is_held()
        taken = second.acquire_lease("second")
        assert taken.is_held()
        taken.release()
        first.close()
        second.close()


def test_any_error_may_be_ordered() -> None:
    """Emulated server: a fault makes one statement fail with a number of the test's choice."""
    with running_harness("fault") as lab, lab.session() as session:
        lab.server.faults.fail["MOVE"] = OracleError(3113, "end-of-file on communication channel")
        with pytest.raises(oracledb.Error) as caught:
            session.cursor().execute("ALTER TABLE T MOVE TABLESPACE FAST")
        assert "ORA-03113" in str(caught.value) or "DPY-4011" in str(caught.value)


def test_a_pooled_server_serves_too() -> None:
    """Emulated server: thin mode reaches DRCP by :pooled in the connect string (oracle.md f37)."""
    with running_harness("pooled") as lab:
        plain = lab.settings()
        dsn = f"127.0.0.1:{plain.port}/orclpdb1:pooled"
        connector = _connector(lab, OracleSettings(user=AGENT, password=plain.password, dsn=dsn))
        assert connector.identify().edition == "Enterprise"
        assert connector.sample().epoch
        connector.close()
