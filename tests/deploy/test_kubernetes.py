"""The manifests: by the schemas of Kubernetes, and one with the compose files."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from bpefleet.shared.keys import QUEUE
from tests.command import bpefleet
from tests.deploy.compose import PLAIN, ROOT, read

FOLDER = ROOT / "deploy" / "kubernetes"
VERSION = "1.31"


def _all() -> list[dict[str, Any]]:
    files = sorted(FOLDER.glob("*.yaml"))
    return [each for file in files for each in yaml.safe_load_all(file.read_text())]


OBJECTS = _all()
PODS = {
    each["metadata"].get("name", "producer"): each["spec"]["template"]["spec"]
    for each in OBJECTS
    if each["kind"] in ("Deployment", "Job")
}


OF_KUBERNETES = ("v1", "apps/v1", "batch/v1", "networking.k8s.io/v1")


@pytest.mark.parametrize(
    "thing",
    [each for each in OBJECTS if each["apiVersion"] in OF_KUBERNETES],
    ids=lambda each: f"{each['kind']}-{each.get('metadata', {}).get('name', '')}",
)
def test_the_schema_holds(thing: dict[str, Any]) -> None:
    validate = pytest.importorskip("kubernetes_validate")
    assert validate.validate(thing, VERSION, strict=True) == VERSION
    with pytest.raises(validate.ValidationError):
        validate.validate(thing | {"spec": {"unknown": 1}}, VERSION, strict=True)


@pytest.mark.parametrize("name", PODS)
def test_pods_are_as_restricted_as_the_namespace_demands(name: str) -> None:
    pod = PODS[name]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    volumes = {volume["name"] for volume in pod["volumes"]}
    for container in [*pod["containers"], *pod.get("initContainers", [])]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert "memory" in container["resources"]["limits"]
        assert {mount["name"] for mount in container["volumeMounts"]} <= volumes


@pytest.mark.parametrize("name", ["redis", "worker", "dashboard"])
def test_what_runs_is_what_compose_runs(name: str) -> None:
    service = read(PLAIN, {})["services"][name]
    (container,) = PODS[name]["containers"]
    allowed = ["--allow-host", "dashboard.bpefleet.svc"]
    args = [word for word in container["args"] if word not in allowed[1:]]
    if name == "dashboard":
        args.remove(allowed[0])
    assert sorted(args) == sorted(service["command"])
    assert container["image"] == service["image"]
    ours = {each["name"]: each["value"] for each in container.get("env", [])}
    assert set(ours) == set(service.get("environment", {}))
    assert ours.get("BPEFLEET_REDIS") == service.get("environment", {}).get("BPEFLEET_REDIS")
    if name != "dashboard":
        probe = container.get("livenessProbe") or container["readinessProbe"]
        assert ["CMD", *probe["exec"]["command"]] == service["healthcheck"]["test"]


def test_the_producer_goes_on_where_a_pod_before_it_ended() -> None:
    (container,) = PODS["producer"]["containers"]
    (script,) = container["args"]
    told = bpefleet("--help").stdout
    for command in ("resume", "train"):
        assert f"exec bpefleet {command} " in script
        assert command in told
    *_, train = script.strip().splitlines()
    assert train.split()[2:] == read(PLAIN, {})["services"]["producer"]["command"]


def test_keda_scales_the_workers_by_our_queue() -> None:
    (scaled,) = (each for each in OBJECTS if each["kind"] == "ScaledObject")
    assert scaled["spec"]["scaleTargetRef"] == {"name": "worker"}
    (trigger,) = scaled["spec"]["triggers"]
    assert trigger["type"] == "redis"
    assert trigger["metadata"]["listName"] == f"rq:queue:{QUEUE}"


def test_kustomize_names_files_that_are_there() -> None:
    (kustomization,) = (each for each in OBJECTS if each["kind"] == "Kustomization")
    assert all((FOLDER / name).is_file() for name in kustomization["resources"])
    (secret,) = kustomization["secretGenerator"]
    mounted = {
        volume["secret"]["secretName"]
        for pod in PODS.values()
        for volume in pod["volumes"]
        if "secret" in volume
    }
    assert mounted == {secret["name"]}
