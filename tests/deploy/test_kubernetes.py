"""The manifests are what Kubernetes takes, and agree with the configuration, the image and what was measured."""

from __future__ import annotations

import http.client
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from prometheus_client import CollectorRegistry

from agent.config.files import load
from agent.config.models import Config, DatabaseConfig
from agent.service.daemon import LOOPBACK
from agent.service.httpd import MetricsServer
from connectors.postgresql.settings import PostgresqlSettings
from tests.deploy.places import DEPLOY, KUBERNETES, ROOT
from tests.deploy.test_container import values

VERSION = "1.32"  # an older one that is still common; strict: no key that it does not know
KUSTOMIZATION = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text(encoding="utf-8"))
FOREIGN = "service-monitor.yaml"  # a kind of the Prometheus Operator, left out of the base
MIB = 1024.0**2
UNITS = {"m": 1e-3, "Mi": MIB, "Gi": 1024 * MIB, "": 1.0}


def manifest(name: str) -> Any:
    """One file as data."""
    return yaml.safe_load((KUBERNETES / name).read_text(encoding="utf-8"))


def pod() -> Any:
    """The pod's part of the deployment."""
    return manifest("deployment.yaml")["spec"]["template"]["spec"]


def container() -> Any:
    """The one container."""
    (only,) = pod()["containers"]
    return only


def mounts() -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Mount and volume by path."""
    volumes = {each["name"]: each for each in pod()["volumes"]}
    return {each["mountPath"]: (each, volumes[each["name"]]) for each in container()["volumeMounts"]}


def config() -> Config:
    """The configuration that becomes the ConfigMap."""
    return load(KUBERNETES / "hotplace.yaml")


def watched() -> tuple[DatabaseConfig, PostgresqlSettings]:
    """Its database and how it is reached."""
    database = config().database()
    assert isinstance(database.connection, PostgresqlSettings)
    return database, database.connection


def quantity(text: str) -> float:
    """Cores or bytes of a quantity."""
    found = re.fullmatch(r"(\d+)(m|Mi|Gi|)", text)
    assert found is not None
    return float(found[1]) * UNITS[found[2]]


def figure(name: str) -> float:
    """A figure that was measured."""
    results = json.loads((ROOT / "tests" / "bench" / "results.json").read_text(encoding="utf-8"))
    (value,) = (each["value"] for each in results if each["name"] == name)
    return float(value)


def test_the_base_holds_every_manifest() -> None:
    """What lies in the folder is in the base, but for what only some clusters know."""
    files = {path.name for path in KUBERNETES.glob("*.yaml")} - {"kustomization.yaml", "hotplace.yaml", FOREIGN}
    assert set(KUSTOMIZATION["resources"]) == files
    assert f"# - {FOREIGN}" in (KUBERNETES / "kustomization.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", KUSTOMIZATION["resources"])
def test_kubernetes_takes_it(name: str) -> None:
    """Its own schema, strictly: no key that is not known, nothing missing."""
    kubernetes_validate.validate(manifest(name), VERSION, strict=True)


def test_a_misspelt_key_would_be_found() -> None:
    """The schema is asked for strictly: what it does not know is a mistake."""
    wrong = manifest("deployment.yaml")
    wrong["spec"]["replica"] = 1
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSION, strict=True)


def test_one_agent_to_a_ledger() -> None:
    """One pod, the old one gone before the new one comes, and as long to end as systemd gives it."""
    spec = manifest("deployment.yaml")["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    service = (DEPLOY / "systemd" / "hotplace.service").read_text(encoding="utf-8")
    assert f"TimeoutStopSec={pod()['terminationGracePeriodSeconds']}\n" in service


def test_it_has_no_right_that_it_does_not_need() -> None:
    """All that the restricted standard asks for, nothing to write to but its volumes, and no token."""
    assert pod()["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod()["securityContext"]["runAsNonRoot"] is True
    assert pod()["automountServiceAccountToken"] is False
    assert container()["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}
    }  # fmt: skip


def test_it_runs_as_the_images_user_with_the_images_words() -> None:
    """User and group are the recipe's, the volume's group too, and the command is the image's own."""
    context = pod()["securityContext"]
    assert values("USER") == [f"{context['runAsUser']}:{context['runAsGroup']}"]
    assert context["fsGroup"] == context["runAsGroup"]
    assert container()["args"] == json.loads(values("CMD")[0])


def test_the_image_is_this_version() -> None:
    """The tag is the project's version; nobody's registry is named."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert KUSTOMIZATION["images"] == [{"name": container()["image"], "newTag": project["version"]}]
    assert "/" not in container()["image"]


def test_its_configuration_is_where_the_agent_looks() -> None:
    """The generated map holds hotplace.yaml, mounted where it is looked for without being told."""
    (generated,) = KUSTOMIZATION["configMapGenerator"]
    assert generated["files"] == ["hotplace.yaml"]
    mount, volume = mounts()["/etc/hotplace"]
    assert volume["configMap"]["name"] == generated["name"]
    assert mount["readOnly"]


def test_only_the_ledger_and_the_scratch_space_can_be_written() -> None:
    """The ledger of the configuration lies on the claim; nothing else lasts."""
    writable = {path: volume for path, (mount, volume) in mounts().items() if not mount.get("readOnly")}
    ledger = writable.pop(str(config().ledger.path.parent))
    assert ledger["persistentVolumeClaim"]["claimName"] == manifest("storage.yaml")["metadata"]["name"]
    assert [set(volume) - {"name"} for volume in writable.values()] == [{"emptyDir"}]


def test_secrets_are_files_and_no_manifest_holds_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The credential that the configuration names is a file of the mounted secret, which a person makes."""
    assert not any("Secret" in str(manifest(path.name).get("kind")) for path in KUBERNETES.glob("*.yaml"))
    folder = next(each["value"] for each in container()["env"] if each["name"] == "CREDENTIALS_DIRECTORY")
    mount, volume = mounts()[folder]
    assert mount["readOnly"]
    secret = volume["secret"]["secretName"]
    source = watched()[1].password
    assert source is not None
    assert source.credential
    made = (KUBERNETES / "kustomization.yaml").read_text(encoding="utf-8")
    assert f"create secret generic {secret} --from-file={source.credential} " in made
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    (tmp_path / source.credential).write_text("s3cret\n", encoding="utf-8")
    assert source.read().get_secret_value() == "s3cret"


def test_whoever_scrapes_comes_through_to_the_agent() -> None:
    """The configured address and port are those of pod, service, policy and monitor."""
    metrics = config().metrics
    assert str(metrics.listen) not in LOOPBACK
    (port,) = container()["ports"]
    assert port["containerPort"] == metrics.port
    service = manifest("service.yaml")
    (served,) = service["spec"]["ports"]
    assert (served["port"], served["targetPort"]) == (metrics.port, port["name"])
    assert service["metadata"]["annotations"]["prometheus.io/port"] == str(metrics.port)
    assert service["spec"]["publishNotReadyAddresses"] is True
    assert [each["port"] for each in manifest(FOREIGN)["spec"]["endpoints"]] == [served["name"]]
    ((let_in,),) = (each["ports"] for each in manifest("network-policy.yaml")["spec"]["ingress"])
    assert let_in["port"] == port["name"]


def test_the_policy_lets_the_agent_reach_its_database() -> None:
    """Out go the name server and the port of the configured database, nothing else."""
    policy = manifest("network-policy.yaml")["spec"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert {port["port"] for rule in policy["egress"] for port in rule["ports"]} == {53, watched()[1].port}


def test_all_of_them_mean_the_same_pod() -> None:
    """Selectors of deployment, service, policy and monitor are labels of the pod."""
    labels = manifest("deployment.yaml")["spec"]["template"]["metadata"]["labels"]
    assert manifest("deployment.yaml")["spec"]["selector"]["matchLabels"] == labels
    assert manifest("service.yaml")["spec"]["selector"] == labels
    assert manifest("network-policy.yaml")["spec"]["podSelector"]["matchLabels"] == labels
    assert manifest(FOREIGN)["spec"]["selector"]["matchLabels"] == manifest("service.yaml")["metadata"]["labels"]


@pytest.mark.parametrize(("probe", "answer"), [("startupProbe", 200), ("livenessProbe", 200), ("readinessProbe", 503)])
def test_probes_ask_what_the_agent_answers(probe: str, answer: int) -> None:
    """Without a fresh sample the agent lives and is not ready."""
    (port,) = container()["ports"]
    asked = container()[probe]["httpGet"]
    assert asked["port"] == port["name"]
    server = MetricsServer(CollectorRegistry(), lambda: (False, "late"), listen="127.0.0.1", port=0)
    server.start()
    try:
        connection = http.client.HTTPConnection(server.url.split("/")[2])
        connection.request("GET", asked["path"])
        assert connection.getresponse().status == answer
        connection.close()
    finally:
        server.stop()


def test_resources_are_those_that_were_measured() -> None:
    """Request: what the largest of two long runs took at its peak. Limit: twice that. CPU: ten times a busy cycle's."""
    peak = max(figure("agent.day.peak_rss_mib"), figure("agent.process_rss_mib.50k")) * MIB
    resources = container()["resources"]
    assert quantity(resources["requests"]["memory"]) >= peak
    assert quantity(resources["limits"]["memory"]) >= 2 * peak
    assert quantity(resources["requests"]["cpu"]) >= 10 * figure("agent.cycle_core_share.50k")
    assert "cpu" not in resources["limits"]


def test_the_ledger_has_room_for_its_history() -> None:
    """The configured days of 100,000 units, three signals a minute, all of them busy, fill less than half of it."""
    values_kept = 100_000 * 3 * config().ledger.history_seconds / 60
    claimed = quantity(manifest("storage.yaml")["spec"]["resources"]["requests"]["storage"])
    assert 2 * values_kept * figure("agent.history_week.bytes_per_value.dense") < claimed
