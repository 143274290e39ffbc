"""A configuration is right as a whole, or every mistake in it is named at once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config.errors import ConfigError, ForeignConfig
from agent.config.files import VARIABLE, find_config, load
from agent.config.mistakes import GONE, keys_of
from agent.config.models import Config, LedgerServer, Level, PolicyConfig
from connectors.kit.contract import HotplaceError
from connectors.kit.registry import find_engine
from policies.model.settings import Pin, PolicySettings
from tests.config.yaml_texts import GOOD, by_path, loaded, problems, values, written
from tests.docs.reference.keys import sections
from tests.over import over


def test_a_short_file_takes_every_default() -> None:
    """What is not written has the default that the design names; nothing acts by itself."""
    config = loaded()
    database = config.database()
    assert (config.level, config.dry_run, config.metrics.listen, config.metrics.port) == (
        Level.OBSERVE, True, "127.0.0.1", 9477,
    )  # fmt: skip
    assert (database.sample_seconds, database.plan_seconds, database.settle_seconds) == (60, 3600, 900)
    assert (database.proposal_expires_seconds, database.retries, database.pins) == (86400, 5, ())
    assert database.policy_settings() == PolicySettings()
    assert [tier.name for tier in database.tiers] == ["ssd", "hdd"]


def test_the_policy_part_mirrors_the_settings_of_the_policies() -> None:
    """Every field of PolicySettings but what moves teach and windows limit can be configured, with the same default."""
    given = {"copy_factors", "taught_copies", "maximum_copy_seconds"}
    assert set(PolicyConfig.model_fields) == set(PolicySettings.__dataclass_fields__) - given


def test_every_policy_key_reaches_the_policies() -> None:
    """What is written under policy arrives in base units."""
    plain = values()
    plain["databases"][0]["policy"] = {
        "half_life": "1h", "minimum_history": "1min", "head_room": "20%", "minimum_gain": "2s", "payback": "2h",
        "resident_bonus": 2, "cool_down": "1d", "copy_rate": "1 MB/s", "log_rate": "2 MB/s",
        "prefetched_wait_share": 0.5, "write_wait_share": "1%", "horizon": "3h", "maximum_moves": 7,
        "long_half_life": "2d", "certainty": "80%", "block_size": "16 KiB",
        "slow_down": "40%", "regret": 2, "ram_price": 30, "turnover": 0.25,
    }  # fmt: skip
    assert loaded(written(plain)).database().policy_settings() == PolicySettings(
        half_life_seconds=3600, minimum_history_seconds=60, head_room_ratio=0.2, minimum_wait_saved_per_hour=2,
        payback_limit_seconds=7200, resident_bonus=2, cool_down_seconds=86400,
        copy_bytes_per_second=1e6, log_bytes_per_second=2e6, prefetched_wait_share=0.5, write_wait_share=0.01,
        horizon_seconds=10800, maximum_moves=7, long_half_life_seconds=172800, certainty=0.8,
        block_bytes=16384, foreground_slow_down=0.4, regret_ratio=2, ram_gib_year=30,
        turnover_per_week=0.25,
    )  # fmt: skip


def test_pins_are_read_as_the_policies_know_them() -> None:
    """A pin has a pattern, a wish and a reason."""
    plain = values()
    plain["databases"][0]["pins"] = [{"unit": "public.orders*", "pin": "never", "reason": "cold by law"}]
    (pin,) = loaded(written(plain)).database().pins
    assert (pin.pattern, pin.pin, pin.reason) == ("public.orders*", Pin.NEVER, "cold by law")


def test_all_mistakes_are_reported_at_once_with_path_and_line() -> None:
    """One reading of a bad file names everything that is wrong in it, in the order of the file."""
    text = """\
level: autopilot
dryrun: true
ledger: {history: 14}
metrics: {port: 99999}
databases:
  - name: shop
    engine: postgres
    connection: {anything: goes}
    tiers:
      - name: ssd
        spaces: [fast, 5]
      - name: hdd
        spaces: [fast]
        kinf: hdd
      - name: hdd
        spaces: fast
    sample_every: [1]
    pins: [{unit: a, pin: maybe}]
    policy: {half_live: 3h, maximum_moves: true, head_room: 50}
  - name: shop
    engine: simulated
    connection: {scenaro: oltp}
"""
    found = problems(text)
    assert [(problem.line, problem.path) for problem in found] == [
        (1, "level"),
        (2, "dryrun"),
        (3, "ledger.history"),
        (4, "metrics.port"),
        (7, "databases[0].engine"),
        (11, "databases[0].tiers[0].spaces[1]"),
        (13, "databases[0].tiers[1].spaces[0]"),
        (14, "databases[0].tiers[1].kinf"),
        (15, "databases[0].tiers[2].name"),
        (16, "databases[0].tiers[2].spaces"),
        (17, "databases[0].sample_every"),
        (18, "databases[0].pins[0].pin"),
        (19, "databases[0].policy.head_room"),
        (19, "databases[0].policy.maximum_moves"),
        (19, "databases[0].policy.half_live"),
        (20, "databases[1].name"),
        (20, "databases[1].tiers"),
        (22, "databases[1].connection.scenaro"),
    ]
    messages = {problem.path: problem.message for problem in found}
    assert "did you mean 'dry_run'?" in messages["dryrun"]
    assert "99999" in messages["metrics.port"]
    assert "did you mean 'postgresql'?" in messages["databases[0].engine"]
    assert "did you mean 'half_life'?" in messages["databases[0].policy.half_live"]
    assert "did you mean 'scenario'?" in messages["databases[1].connection.scenaro"]
    assert "'observe', 'propose' or 'auto'" in messages["level"]


def test_a_key_of_an_earlier_version_is_refused_with_what_holds_in_its_place() -> None:
    """A nearly alike key that means something else is not offered for it, and none of these keys came back."""
    plain = values()
    plain["databases"][0]["policy"] = {"minimum_size": "1 MiB", "prefer_bonus": 2, "maximum_copy": "2h"}
    plain["databases"][0]["tiers"][0]["io_head_room"] = "10%"
    messages = {problem.path.rpartition(".")[2]: problem.message for problem in problems(written(plain))}
    of_engines = {"awr_days", "split_lock_limit"}
    gone = {key: f"{key!r} is no key any more, remove it: {GONE[key]}" for key in GONE if key not in of_engines}
    assert messages == gone
    assert not set(GONE) & {key for _, model in sections(Config) for key in keys_of(model)}


def test_the_message_counts_and_lists_the_mistakes() -> None:
    """The error reads well when it is simply printed."""
    with pytest.raises(HotplaceError, match="2 mistakes") as refusal:
        loaded(GOOD.replace("scenario", "scenari") + "levl: propose\n")
    assert "line 11: levl: unknown key 'levl'; did you mean 'level'?" in str(refusal.value)


@pytest.mark.parametrize(
    ("key", "place"), [("sample_every: 5s", "databases"), ("minimum_history: 15s", "databases.policy")]
)
def test_a_key_at_the_wrong_place_says_where_it_belongs(key: str, place: str) -> None:
    """What a page names without its place is not typed in vain."""
    with pytest.raises(HotplaceError) as refusal:
        loaded(f"{GOOD}{key}\n")
    assert f"unknown key {key.partition(':')[0]!r} here; it belongs below {place}" in str(refusal.value)


SPOILT: dict[str, tuple[list[str | int], Any, str, str]] = {
    "unknown engine": (["databases", 0, "engine"], "simulatd", "databases[0].engine", "did you mean 'simulated'?"),
    "size next to spaces": (["databases", 0, "tiers", 0, "size"], "1 GiB", "databases[0].tiers[0]", "no space yet"),
    "no tiers": (["databases", 0, "tiers"], [], "databases[0].tiers", "is empty"),
    "no databases": (["databases"], [], "databases", "is empty"),
    "space twice in a tier": (
        ["databases", 0, "tiers", 0, "spaces"], ["ssd", "ssd"], "databases[0].tiers[0].spaces[1]", "already",
    ),
    "space in two tiers": (
        ["databases", 0, "tiers", 1, "spaces"], ["hdd", {"name": "ssd"}], "databases[0].tiers[1].spaces[1]",
        "'ssd' is in the tier 'ssd' already",
    ),
    "speed unknown": (["databases", 0, "tiers", 0, "name"], "quick", "databases[0].tiers[0]", "kind (nvme, ssd, hdd)"),
    "kind unknown": (["databases", 0, "tiers", 0, "kind"], "tape", "databases[0].tiers[0]", "'tape' is not one of"),
    "tiers upside down": (
        ["databases", 0, "tiers", 1, "random_read"], "0.1ms", "databases[0].tiers[1]", "listed fastest first",
    ),
    "no unit": (["databases", 0, "sample_every"], 60, "databases[0].sample_every", "60 is not a duration"),
    "too often": (["databases", 0, "sample_every"], "1ms", "databases[0].sample_every", "greater than or equal"),
    "capacity without unit": (
        ["databases", 0, "tiers", 0, "spaces"], [{"name": "ssd", "capacity": 200}],
        "databases[0].tiers[0].spaces[0].capacity", "200 is not a size",
    ),
    "port": (["metrics"], {"port": -1}, "metrics.port", "-1"),
    "flag as text": (["dry_run"], "yes", "dry_run", "'yes'"),
    "level": (["level"], "obsrve", "level", "'observe', 'propose' or 'auto'"),
    "log": (["log"], {"format": "xml"}, "log.format", "'console' or 'json'"),
    "name": (["databases", 0, "name"], "", "databases[0].name", "at least 1"),
    "retries": (["databases", 0, "retries"], 1.5, "databases[0].retries", "1.5"),
    "not a mapping": (["databases", 0, "policy"], "fast", "databases[0].policy", "mapping of keys, not 'fast'"),
    "connection of a wrong shape": (["databases", 0, "connection"], [1], "databases[0].connection", "a list of 1"),
    "key with a dot": (["a.b"], 1, "['a.b']", "unknown key 'a.b'"),
}  # fmt: skip


@over("name", SPOILT)
def test_each_mistake_is_named_where_it_is(name: str) -> None:
    """One wrong value gives one problem, at its path, in words that say what would be right."""
    keys, value, path, words = SPOILT[name]
    plain = values()
    holder = plain
    for key in keys[:-1]:
        holder = holder[key]
    holder[keys[-1]] = value
    found = by_path(written(plain))
    assert list(found) == [path]
    assert words in found[path]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("just words", "not a mapping"),
        ("- 1", "not a mapping"),
        ("a: [", "is not YAML"),
        ("a: !!python/object:os.system {}", "is not YAML"),
        ("a: \x01", "is not YAML"),
        ("a: 2020-13-45", "is not YAML"),
        ("[" * 5000, "nested too deeply"),
        ("a: 1\nb: {c: 2, c: 3}", "is written twice"),
        ("x" * 1_000_001, "1,000,001 characters"),
    ],
)
def test_what_is_no_configuration_at_all_is_refused(text: str, words: str) -> None:
    """Other files, broken YAML and repeated keys end in a sentence, not in a traceback."""
    (problem,) = problems(text)
    assert words in problem.message


def test_anchors_may_be_used_and_cannot_be_abused() -> None:
    """A merged anchor saves writing; one that holds itself, or grows without end, is refused."""
    shared = GOOD.replace("    tiers:\n", "    policy: &usual {half_life: 1h}\n    tiers:\n")
    second = "".join(GOOD.partition("  - name")[1:]).replace("shop", "mart") + "    policy: {<<: *usual, payback: 2h}\n"
    settings = loaded(shared + second).database("mart").policy_settings()
    assert (settings.half_life_seconds, settings.payback_limit_seconds) == (3600, 7200)
    laughs = "".join(f"k{n}: &k{n} [{', '.join([f'*k{n - 1}'] * 9)}]\n" for n in range(1, 20))
    for abuse in ("databases: &a [*a]", f"k0: &k0 [ha]\n{laughs}level: *k19\n{GOOD}"):
        (problem,) = problems(abuse)
        assert "counting every use of an anchor" in problem.message


SECRETS = ["hunter2", "host=db password=hunter2", "postgresql://admin:hunter2@db/shop"]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("key", ["password", "passwd", "api_token", "dsn", "scenario"])
@pytest.mark.parametrize("part", ["connection", "move_connection"])
def test_secrets_in_the_file_are_refused_and_never_shown(part: str, key: str, secret: str) -> None:
    """A password has no place in the file; the message says which keys to use and does not repeat it."""
    if secret == "hunter2" and key in {"dsn", "scenario"}:
        return  # neither its key nor its look says that it is one
    plain = values()
    plain["databases"][0][part] = {key: secret}
    text = written(plain)
    assert "{env: VARIABLE}" in by_path(text)[f"databases[0].{part}.{key}"]
    with pytest.raises(ConfigError) as refusal:
        loaded(text)
    assert "hunter2" not in f"{refusal.value} {refusal.value.advice} {refusal.value.problems}"


def test_broken_yaml_quotes_no_line_of_the_file() -> None:
    """The line that YAML stumbles over may be the one with the password."""
    (problem,) = problems("connection:\n  password: 'hunter2\n")
    assert "hunter2" not in str(problem)


PARTS: list[list[str | int]] = [
    [], ["ledger"], ["metrics"], ["log"], ["databases", 0], ["databases", 0, "connection"], ["databases", 0, "policy"],
    ["databases", 0, "tiers", 1], ["databases", 0, "tiers", 0, "spaces", 0], ["databases", 0, "pins", 0],
]  # fmt: skip


@given(
    part=st.sampled_from(PARTS), key=st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1)
)
def test_an_unknown_key_anywhere_is_reported_at_its_path(part: list[str | int], key: str) -> None:
    """Wherever a stranger is put in, one problem names its path, its line and the key itself."""
    plain = values()
    plain |= {"metrics": {}, "log": {}}
    plain["databases"][0] |= {"policy": {}, "pins": [{"unit": "a", "pin": "must"}]}
    plain["databases"][0]["tiers"][0]["spaces"] = [{"name": "ssd"}]
    holder = plain
    for step in part:
        holder = holder[step]
    if key in _known_keys(part):
        return
    holder[key] = None
    (problem,) = problems(written(plain))
    assert problem.line is not None
    assert repr(key) in problem.message
    assert problem.path.endswith((f".{key}", f"[{key!r}]")) or problem.path == key


def _known_keys(part: list[str | int]) -> set[str]:
    """Every key of the product: whichever part is spoilt, none of them is a stranger for sure."""
    from agent.config.mistakes import keys_of
    from agent.config.models import (
        Config,
        DatabaseConfig,
        LedgerConfig,
        LedgerServer,
        LogConfig,
        MetricsConfig,
        PinConfig,
    )
    from agent.config.tiers import SpaceConfig, TierConfig

    models = (Config, DatabaseConfig, LedgerConfig, LogConfig, MetricsConfig, PinConfig, PolicyConfig, SpaceConfig)
    return {
        key
        for model in (*models, TierConfig, LedgerServer, find_engine("simulated").settings)
        for key in keys_of(model)
    }


def test_a_database_is_found_by_name_or_as_the_only_one() -> None:
    """Commands need no name while there is one database; otherwise the error names them."""
    config = loaded()
    assert config.database().name == config.database("shop").name == "shop"
    with pytest.raises(ConfigError, match="no database is named 'mart'; configured: shop"):
        config.database("mart")
    plain = values()
    plain["databases"].append({**plain["databases"][0], "name": "mart"})
    with pytest.raises(ConfigError, match="say which database; configured: shop, mart"):
        loaded(written(plain)).database()


SERVER = {"host": "db1", "dbname": "hotplace", "user": "agent"}


@pytest.mark.parametrize(
    ("ledger", "path", "message"),
    [
        ({"postgresql": {**SERVER, "password": "hunter2"}, "anchors": "a"}, "ledger.postgresql.password", "{env:"),
        ({"url": "postgresql://agent:hunter2@db1/hotplace"}, "ledger.url", "secrets are not accepted"),
        ({"postgresql": {**SERVER, "host": "postgresql://a:hunter2@db1"}}, "ledger.postgresql.host", "secrets are not"),
        ({"postgresql": {**SERVER, "dbname": "x password=hunter2"}}, "ledger.postgresql.dbname", "secrets are not"),
        ({"postgresql": SERVER, "path": "x.db", "anchors": "a"}, "ledger", "remove one of them"),
        ({"postgresql": SERVER}, "ledger", "needs anchors: FILE"),
        ({"postgresql": {**SERVER, "schema": 'x"; DROP'}, "anchors": "a"}, "ledger.postgresql.schema", ""),
    ],
)
def test_a_ledger_on_a_server_is_refused_with_a_secret_or_half_said(
    ledger: dict[str, Any], path: str, message: str
) -> None:
    """A password anywhere in the file, a file and a server, a server without anchors, a name that is none."""
    with pytest.raises(ConfigError) as caught:
        loaded(written({**values(), "ledger": ledger}))
    found = {problem.path: problem.message for problem in caught.value.problems}
    assert message in found[path]
    assert "hunter2" not in str(caught.value)


def test_a_ledger_on_a_server(tmp_path: Path) -> None:
    """Its files lie where the configuration is; a password is read when it is needed."""
    (tmp_path / "secret").write_text("hunter2\n")
    server = {**SERVER, "password": {"file": str(tmp_path / "secret")}, "schema": "fleet", "sslrootcert": "ca.pem"}
    (tmp_path / "hotplace.yaml").write_text(
        written({**values(), "ledger": {"postgresql": server, "anchors": "anchors", "history": "3d"}})
    )
    ledger = load(tmp_path / "hotplace.yaml").ledger
    assert isinstance(ledger.place, LedgerServer)
    assert ledger.place.name == "agent@db1:5432/hotplace (schema fleet)"
    assert "hunter2" not in repr(ledger)
    arguments = ledger.place.connect_arguments()
    assert (arguments["password"], arguments["sslrootcert"]) == ("hunter2", str(tmp_path / "ca.pem"))
    assert (ledger.anchors, ledger.folder) == (tmp_path / "anchors", tmp_path)
    assert "target_session_attrs" not in arguments
    several = ledger.place.model_copy(update={"host": "db1,db2"}).connect_arguments()
    assert (several["host"], several["target_session_attrs"]) == ("db1,db2", "read-write")


def test_a_relative_ledger_lies_beside_the_file(tmp_path: Path) -> None:
    """Wherever hotplace is started, it finds the same ledger."""
    (tmp_path / "hotplace.yaml").write_text(GOOD)
    assert load(tmp_path / "hotplace.yaml").ledger.path == tmp_path / "ledger.db"


def test_a_file_that_cannot_be_read_is_a_config_error(tmp_path: Path) -> None:
    """No file, a folder and bytes that are no text end in the same kind of error."""
    (tmp_path / "latin").write_bytes(b"a: \xe4")
    for path, words in ((tmp_path / "none", "No such file"), (tmp_path, "directory"), (tmp_path / "latin", "UTF-8")):
        with pytest.raises(ConfigError, match=words):
            load(path)


def test_the_file_is_looked_for_in_the_documented_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Explicit, then the variable, then the working folder; a named file that is missing is never replaced."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(ConfigError, match=r"looked for .*hotplace\.yaml, /etc/hotplace/hotplace\.yaml"):
        find_config(None)
    for name in ("hotplace.yaml", "variable.yaml", "explicit.yaml"):
        (tmp_path / name).write_text(GOOD)
    assert find_config(None) == Path("hotplace.yaml")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "variable.yaml"))
    assert find_config(None) == tmp_path / "variable.yaml"
    assert find_config(tmp_path / "explicit.yaml") == tmp_path / "explicit.yaml"
    monkeypatch.setenv(VARIABLE, str(tmp_path / "gone.yaml"))
    with pytest.raises(ConfigError, match=r"gone\.yaml \(from \$HOTPLACE_CONFIG\)"):
        find_config(None)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to other users")
def test_a_strangers_file_is_never_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the current folder it is an error, and neither used nor passed over; nor is it used where it is named."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(VARIABLE, raising=False)
    path = tmp_path / "hotplace.yaml"
    path.write_text(GOOD)
    monkeypatch.setattr("agent.config.files.PLACES", (Path("hotplace.yaml"), tmp_path / "etc.yaml"))
    (tmp_path / "etc.yaml").write_text(GOOD)
    for stranger in (path, tmp_path):
        os.chown(stranger, 12345, 12345)
        with pytest.raises(
            ForeignConfig, match=rf"is not used: {stranger} belongs to user 12345, not to root"
        ) as caught:
            find_config(None)
        assert f"chown root {path}" in caught.value.advice
        monkeypatch.setenv(VARIABLE, str(path))
        for use in (lambda: load(path), lambda: find_config(path), lambda: find_config(None)):
            with pytest.raises(ForeignConfig):
                use()
        monkeypatch.delenv(VARIABLE)
        os.chown(stranger, 0, 0)
    assert find_config(None) == Path("hotplace.yaml")
    path.unlink()
    assert find_config(None) == tmp_path / "etc.yaml"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to other users")
def test_under_sudo_only_roots_file_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even the service's own, which it could have been made to write."""
    path = tmp_path / "hotplace.yaml"
    path.write_text(GOOD)
    os.chown(path, 12345, 0)
    tmp_path.chmod(0o755)
    for folder in tmp_path.parents[:3]:
        folder.chmod(folder.stat().st_mode | 0o055)
    os.seteuid(12345)
    try:
        assert load(path).databases
        monkeypatch.setenv("SUDO_UID", "1000")
        with pytest.raises(ForeignConfig, match="belongs to user 12345, not to root") as caught:
            load(path)
    finally:
        os.seteuid(0)
    assert "Under sudo" in caught.value.advice


def test_configuration_never_changes_once_loaded() -> None:
    """A frozen tree: whoever holds it may rely on it."""
    with pytest.raises(ValueError, match="frozen"):
        loaded().dry_run = False


SHARED = "ledger: {postgresql: {host: db1, dbname: d, user: anna}, anchors: /tmp/anchors}\n"


def test_where_people_only_decide_no_database_is_configured() -> None:
    """With a ledger on a server; a command that is about one says that --all covers those of the ledger."""
    config = loaded(SHARED)
    assert config.databases == ()
    with pytest.raises(ConfigError, match="--all"):
        config.database()
    assert by_path("level: observe\n")["databases"].startswith("is missing")
