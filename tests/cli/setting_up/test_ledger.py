"""`hotplace ledger grants`: the script for a DBA, from the configuration alone."""

from __future__ import annotations

import re

import pytest

from agent.terminal.errors import ExitCode
from tests.cli.site import Site

SERVER = {"postgresql": {"host": "/nowhere", "dbname": "d", "user": "u", "schema": "records"}, "anchors": "anchors"}


@pytest.fixture
def shared(site: Site) -> Site:
    """A configuration whose ledger is on a server that is not asked."""
    site.values["ledger"] = SERVER
    site.write()
    return site


def test_the_script_names_schema_roles_and_teams(shared: Site) -> None:
    """Of the configured schema; what a team owns stands in it, quoted."""
    done = shared.good("ledger", "grants", "--team", "o'sales=shop, crm", "--team", "o'sales=web", "--json").document
    assert done["teams"] == {"o'sales": ["shop", "crm", "web"]}
    assert "SELECT 'o''sales', unnest(ARRAY['shop', 'crm', 'web'])" in done["script"]
    assert 'CREATE ROLE "o\'sales" NOLOGIN' in done["script"]
    assert not re.search(r"@\w+@", done["script"]), "every blank is filled in"
    printed = shared.good("ledger", "grants").out
    assert "SELECT 'records_all', unnest(ARRAY['*'])" in printed
    assert 'ALTER SCHEMA "records" OWNER TO "records_owner"' in printed


@pytest.mark.parametrize("team", ["sales", "=shop", "sales="])
def test_a_team_without_name_or_database_is_refused(shared: Site, team: str) -> None:
    """With what it should be."""
    done = shared.run("ledger", "grants", "--team", team)
    assert (done.code, "NAME=DATABASE,..." in done.err) == (ExitCode.USAGE, True)


@pytest.mark.parametrize("team", ["a\nDROP TABLE x;=shop", "a\u2028b=shop", "$$; DROP TABLE x; $$=shop", "a=sh\nop"])
def test_a_team_of_a_hostile_name_is_refused(shared: Site, team: str) -> None:
    """What a DBA runs is read line by line, and has parts within dollars."""
    done = shared.run("ledger", "grants", "--team", team)
    assert (done.code, "printable characters" in done.err) == (ExitCode.USAGE, True)


def test_what_is_filled_in_is_no_blank(shared: Site) -> None:
    """A team may be called as a blank of the script is."""
    script = shared.good("ledger", "grants", "--team", "@databases@=shop").out
    assert 'CREATE ROLE "@databases@" NOLOGIN' in script


def test_a_file_has_no_roles(site: Site) -> None:
    """The error says so, and where a server is named."""
    done = site.run("ledger", "grants")
    assert done.code == ExitCode.REFUSED
    assert "ledger.postgresql" in done.err
