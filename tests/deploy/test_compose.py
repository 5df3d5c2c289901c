"""The compose files: what each service runs is run here, on loopback, as they wire it."""

from __future__ import annotations

import json
import random
import shutil
import socket
import subprocess
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from bpefleet.shared.tokenizer.files.names import MANIFEST
from tests.deploy.compose import PLAIN, ROOT, TLS, Project, read, readme_blocks, redis_server
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PASSWORDS = {f"BPEFLEET_{part}_PASSWORD": part for part in ("WORKER", "PRODUCER", "DASHBOARD")}


def _speaks_tls() -> bool:
    refused = subprocess.run(
        [redis_server(), "--port", "0", "--tls-port", "1", "--tls-cert-file", "/nowhere"],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    return "Failed to configure TLS" in refused.stdout + refused.stderr


@pytest.fixture(params=[PLAIN, TLS], ids=["plain", "tls"])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Project]:
    """A project prepared as the README says, its Redis running."""
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    if request.param == TLS and not _speaks_tls():
        pytest.skip(f"{redis_server()} is built without TLS")
    project = Project(tmp_path, request.param)
    project.prepare(*readme_blocks()[: len(request.param)])
    try:
        redis = project.start("redis")
        eventually(lambda: redis.poll() is not None or _listens(project.ports["6379"]))
        assert redis.poll() is None, redis.communicate()
        yield project
    finally:
        project.stop()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_what_the_readme_makes_keeps_its_secrets_and_its_place(tmp_path: Path) -> None:
    """In one shell, as it is typed; the folder's own files are as readable as by default."""
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    project = Project(tmp_path, TLS)
    script = "umask 022\n" + "\n".join(readme_blocks()[:2]) + '\n[ "$(umask)" = 0022 ]; pwd'
    project.prepare(f'[ "$({{ {script}\n}} | tail -n 1)" = "$(pwd)" ]')
    secret = [tmp_path / ".env", *(tmp_path / "secrets").iterdir()]
    assert [path.name for path in secret if path.stat().st_mode & 0o077] == []


@pytest.mark.slow
def test_the_readme_s_certificates_hold_where_they_are_checked_strictly(tmp_path: Path) -> None:
    """As Python does from 3.13 on: its own authority must say that it may sign certificates."""
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    project = Project(tmp_path, TLS)
    project.prepare(*readme_blocks()[:2])
    verify = ["openssl", "verify", "-x509_strict", "-CAfile", "ca.crt", "redis.crt"]
    checked = subprocess.run(
        verify, capture_output=True, text=True, check=False, cwd=tmp_path / "secrets"
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.crossed(2)
def test_redis_is_healthy(project: Project) -> None:
    if not shutil.which("redis-cli"):
        pytest.skip("redis-cli is not installed")
    eventually(lambda: project.is_healthy("redis"))
    project.stop()
    assert not project.is_healthy("redis")


@pytest.mark.slow
def test_worker_and_producer_train(project: Project) -> None:
    seeded = random.Random(1)
    words = (
        "".join(seeded.choices("etaoinshrdlu", k=seeded.randint(3, 9))) for _ in range(120_000)
    )
    project.path("corpus/text.txt").write_text(" ".join(words))
    assert not project.is_healthy("worker")
    worker = project.start("worker")
    eventually(lambda: worker.poll() is not None or project.is_healthy("worker"))
    assert worker.poll() is None, worker.communicate()

    assert not project.is_healthy("producer")
    producer = project.start("producer")
    _, stderr = producer.communicate(timeout=120)
    assert producer.returncode == 0, stderr
    assert project.is_healthy("producer")
    manifest = json.loads((project.path("output/tokenizer") / MANIFEST).read_text())
    assert manifest["missing"] == []
    assert (project.path("redis-data") / "appendonlydir").is_dir()

    worker.terminate()
    _, stderr = worker.communicate(timeout=120)
    assert worker.returncode == 0, stderr
    eventually(lambda: not project.is_healthy("worker"))


@pytest.mark.crossed(2)
def test_dashboard_is_healthy(project: Project) -> None:
    if find_spec("bpefleet.dashboard") is None or find_spec("uvicorn") is None:
        pytest.skip("the dashboard is not installed")
    assert not project.is_healthy("dashboard")
    dashboard = project.start("dashboard")
    eventually(lambda: dashboard.poll() is not None or project.is_healthy("dashboard"))
    assert dashboard.poll() is None, dashboard.communicate()


@pytest.mark.parametrize("files", [PLAIN, TLS], ids=["plain", "tls"])
def test_docker_compose_reads_the_same(files: tuple[str, ...], tmp_path: Path) -> None:
    if not (tool := shutil.which("docker-compose")):
        pytest.skip("docker-compose is not installed")
    options = [word for name in files for word in ("-f", str(ROOT / name))]
    shown = subprocess.run(
        [tool, *options, "--project-directory", str(tmp_path), "config"],
        capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin"} | PASSWORDS,
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    theirs, ours = yaml.safe_load(shown.stdout), read(files, PASSWORDS)
    for name, service in ours["services"].items():
        if "profiles" in service:  # not shown by docker-compose 1 unless asked for
            continue
        found = theirs["services"][name]
        for field in ("command", "environment", "image", "user", "read_only", "cap_drop"):
            assert found.get(field) == service.get(field), (name, field)
        assert found["healthcheck"]["test"] == service["healthcheck"]["test"]
        secrets = {secret["source"] for secret in found.get("secrets", [])}
        assert secrets == set(service.get("secrets", []))


@pytest.fixture(params=[PLAIN, TLS], ids=["plain", "tls"])
def services(request: pytest.FixtureRequest) -> dict[str, Any]:
    found: dict[str, Any] = read(request.param, PASSWORDS)["services"]
    return found


def test_no_service_has_more_rights_than_it_needs(services: dict[str, Any]) -> None:
    for name, service in services.items():
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert not str(service.get("user", "472")).startswith("0"), name
        assert service["healthcheck"]["test"], name
        assert "privileged" not in service, name
        image, _, tag = service["image"].rpartition(":")
        assert image, name
        assert tag.strip("v")[0].isdigit(), f"{name}: {tag} is no version"
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), name
    for name in ("worker", "producer"):
        assert any(volume.endswith(":/corpus:ro") for volume in services[name]["volumes"])
        assert "bpefleet_key" in services[name]["secrets"]
    assert services["redis"]["networks"] == ["queue"]
    assert read(PLAIN, {})["networks"]["queue"] == {"internal": True}


def test_prometheus_asks_the_dashboard_with_its_token() -> None:
    if not (config := ROOT / "deploy" / "prometheus" / "prometheus.yml").exists():
        pytest.skip("there is no configuration for Prometheus")
    service = read(PLAIN, {})["services"]["prometheus"]
    (secret,) = service["secrets"]
    for job in yaml.safe_load(config.read_text())["scrape_configs"]:
        if any("dashboard:8787" in each["targets"] for each in job.get("static_configs", [])):
            assert job["authorization"]["credentials_file"] == f"/run/secrets/{secret}"
            break
    else:
        raise AssertionError("nothing asks dashboard:8787")


def test_grafana_finds_prometheus_and_the_board() -> None:
    if not (folder := ROOT / "deploy" / "grafana" / "provisioning").exists():
        pytest.skip("there is no configuration for Grafana")
    mounts = {v.split(":")[1] for v in read(PLAIN, {})["services"]["grafana"]["volumes"]}
    text = "\n".join(file.read_text() for file in folder.rglob("*.y*ml"))
    assert "http://prometheus:9090" in text
    assert "/var/lib/grafana/dashboards" in text
    assert "/var/lib/grafana/dashboards" in mounts
