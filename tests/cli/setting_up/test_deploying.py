"""What `hotplace deploy` prints and writes is what deploy/ holds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from connectors.kit.registry import find_engine
from tests.cli.site import run_here

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
KINDS = {
    "privileges": ("postgresql-move.sql", "postgresql-observe.sql"),
    "systemd": ("hotplace.service", "hotplace.sysusers"),
    "prometheus": ("hotplace.rules.yml",),
    "grafana": ("hotplace-database.json", "hotplace-fleet.json", "hotplace-moves.json", "hotplace.json"),
    "live": ("postgresql-compose.yaml", "postgresql-hotplace.yaml", "postgresql-setup.sql"),
    "kubernetes": tuple(sorted(path.name for path in (DEPLOY / "kubernetes").iterdir())),
}
EVERY = pytest.mark.parametrize("kind", KINDS)


def text_of(kind: str, name: str) -> str:
    """A file of the checkout."""
    return (DEPLOY / kind / name).read_text(encoding="utf-8")


@EVERY
def test_all_of_it_is_printed(kind: str) -> None:
    """Each file whole and below its name; one that comes alone can be piped as it is."""
    done = run_here("deploy", kind)
    assert done.code == 0
    if len(KINDS[kind]) == 1:
        assert done.out == text_of(kind, KINDS[kind][0])
    for name in KINDS[kind]:
        assert text_of(kind, name) in done.out
        assert len(KINDS[kind]) == 1 or re.search(rf"^(#|--) {re.escape(name)}$", done.out, re.MULTILINE)


@EVERY
def test_it_is_written_where_it_is_wanted(kind: str, tmp_path: Path) -> None:
    """Into a folder that is made; nothing is overwritten unless that is said."""
    folder = tmp_path / "new" / "folder"
    assert run_here("deploy", kind, "--output", str(folder)).code == 0
    assert {path.name: path.read_text() for path in folder.iterdir()} == {n: text_of(kind, n) for n in KINDS[kind]}
    first, *others = (folder / name for name in KINDS[kind])
    first.write_text("my own")
    for path in others:
        path.unlink()
    refused = run_here("deploy", kind, "--output", str(folder))
    assert (refused.code, first.read_text()) == (6, "my own")
    assert str(first) in refused.err
    assert not any(path.exists() for path in others)
    assert run_here("deploy", kind, "--output", str(folder), "--force").code == 0
    assert first.read_text() == text_of(kind, first.name)


def test_documents_hold_the_texts_or_the_places(tmp_path: Path) -> None:
    """One JSON document either way."""
    boards = run_here("deploy", "grafana", "--json").document["files"]
    assert [json.loads(board["text"])["uid"] + ".json" for board in boards] == [board["name"] for board in boards]
    (written,) = run_here("deploy", "prometheus", "--output", str(tmp_path), "--json").document["files"]
    assert yaml.safe_load(Path(written["path"]).read_text())["groups"]


def test_manifests_stay_manifests_when_they_are_printed() -> None:
    """The stream is YAML with one document for each resource."""
    kinds = [document.get("kind") for document in yaml.safe_load_all(run_here("deploy", "kubernetes").out) if document]
    assert {"Deployment", "Service", "NetworkPolicy", "Kustomization"} <= set(kinds)


@pytest.mark.parametrize("engine", ["db2", "oracle", "postgresql", "sqlserver"])
def test_every_engine_has_a_login_that_watches_and_one_that_moves(engine: str) -> None:
    """And its sample configuration says how to see the scripts."""
    files = run_here("deploy", "privileges", "--engine", engine, "--json").document["files"]
    assert {f"{engine}-observe.sql", f"{engine}-move.sql"} <= {file["name"] for file in files}
    assert all(file["name"].startswith(f"{engine}-") for file in files)
    assert f"hotplace deploy privileges --engine {engine}" in find_engine(engine).sample_settings


def test_an_engine_without_scripts_is_wrong_use() -> None:
    """The message names those that have some."""
    refused = run_here("deploy", "privileges", "--engine", "simulated")
    assert refused.code == 2
    assert all(engine in refused.err for engine in ("db2", "oracle", "postgresql", "sqlserver"))


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """A file stands in its place."""
    (tmp_path / "taken").write_text("")
    refused = run_here("deploy", "grafana", "--output", str(tmp_path / "taken"))
    assert refused.code == 3
    assert f"{tmp_path / 'taken'} cannot be written" in refused.err


def test_nothing_points_to_a_folder_that_a_wheel_has_not() -> None:
    """What the package says names the command, not deploy/."""
    found = [
        path.relative_to(ROOT)
        for folder in ("agent", "connectors", "policies")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".sql", ".md"} and "deploy/privileges" in path.read_text(encoding="utf-8")
    ]
    assert not found


@pytest.mark.parametrize("engine", ["oracle", "postgresql", "sqlserver"])
def test_what_takes_privileges_back_is_a_script_of_its_own(engine: str) -> None:
    """Only with --remove; it drops the login."""
    (file,) = run_here("deploy", "privileges", "--engine", engine, "--remove", "--json").document["files"]
    assert file["name"] == f"{engine}-remove.sql"
    assert re.search("^ *DROP (ROLE|USER) ", file["text"], re.MULTILINE)


def test_db2_takes_back_each_grant() -> None:
    """Its logins are those of the operating system: as many REVOKEs as there are GRANTs, for the same users."""
    removal = run_here("deploy", "privileges", "--engine", "db2", "--remove", "--json").document["files"]
    assert [file["name"] for file in removal] == [
        f"db2-{name}-remove.sql" for name in ("i-observe", "move", "observe", "zos-observe")
    ]
    for file in removal:
        given = text_of("privileges", f"{file['name'].removesuffix('-remove.sql')}.sql")
        assert file["text"].count("\nREVOKE ") == len(re.findall("^GRANT ", given, re.MULTILINE)) > 0
    assert "REVOKE EXECUTE ON FUNCTION SYSPROC.DB_MEMBERS FROM USER HOTPLACE RESTRICT;" in removal[2]["text"]
