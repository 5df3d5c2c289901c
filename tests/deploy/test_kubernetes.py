"""The manifests: by the schemas of Kubernetes, and one with the compose files."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from bpefleet.shared.wire.keys import QUEUE
from tests.command import bpefleet
from tests.deploy.compose import PLAIN, ROOT, read

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = ROOT / "deploy" / "kubernetes"
IMAGE = FOLDER / "image"
VERSION = "1.31"


def _all() -> list[dict[str, Any]]:
    files = sorted(FOLDER.rglob("*.yaml"))
    return [each for file in files for each in yaml.safe_load_all(file.read_text())]


OBJECTS = _all()
PODS = {
    each["metadata"]["name"]: each["spec"]["template"]["spec"]
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
    if name == "redis":
        assert "--maxmemory" in args, "full, it must refuse before the system kills it"
    assert container["image"] == service["image"]
    ours = {each["name"]: each["value"] for each in container.get("env", [])}
    assert set(ours) == set(service.get("environment", {}))
    assert ours.get("BPEFLEET_REDIS") == service.get("environment", {}).get("BPEFLEET_REDIS")
    if name != "dashboard":
        probe = container.get("livenessProbe") or container["readinessProbe"]
        assert ["CMD", *probe["exec"]["command"]] == service["healthcheck"]["test"]


def test_the_producer_goes_on_where_a_pod_before_it_ended() -> None:
    (container,) = PODS["train"]["containers"]
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
    kinds = {"Kustomization", "Component"}
    files = {f.parent: yaml.safe_load(f.read_text()) for f in FOLDER.rglob("kustomization.yaml")}
    assert {each["kind"] for each in files.values()} == kinds
    for folder, each in files.items():
        assert all((folder / name).is_file() for name in each.get("resources", ()))
        assert all((folder / name).is_dir() for name in each.get("components", ()))
    (secret,) = files[FOLDER]["secretGenerator"]
    mounted = {
        volume["secret"]["secretName"]
        for pod in PODS.values()
        for volume in pod["volumes"]
        if "secret" in volume
    }
    assert mounted == {secret["name"]}


def test_all_that_name_the_image_take_its_name_from_one_place() -> None:
    """By the rules of kustomize: a component's images hold for what names the component."""
    covered = set()
    for file in (FOLDER / "kustomization.yaml", FOLDER / "train" / "kustomization.yaml"):
        found = yaml.safe_load(file.read_text())
        assert [(file.parent / each).resolve() for each in found["components"]] == [IMAGE]
        covered |= {file.parent / name for name in found["resources"]}
    ours = {file for file in FOLDER.rglob("*.yaml") if "image: bpefleet:" in file.read_text()}
    assert ours
    assert ours <= covered


def test_kustomize_renames_the_image_everywhere(tmp_path: Path) -> None:
    if not (kubectl := shutil.which("kubectl")):
        pytest.skip("kubectl is not installed")
    shutil.copytree(FOLDER, tmp_path / "k")
    for name in ("bpefleet.key", "dashboard.token"):
        (tmp_path / "k" / name).write_text("x")
    component = tmp_path / "k/image/kustomization.yaml"
    component.write_text(component.read_text().replace("newName: bpefleet", "newName: other/name"))
    for folder in ("k", "k/train"):
        shown = subprocess.run(
            [kubectl, "kustomize", tmp_path / folder], check=True, capture_output=True, text=True
        ).stdout
        assert "image: bpefleet" not in shown
        assert "image: other/name:" in shown
