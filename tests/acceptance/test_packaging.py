"""The built wheels are complete: they install into an empty environment, and all of it imports."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from build.util import project_wheel_metadata

import bpefleet
import bpefleet.producer
from bpefleet.kernel import VERSION

pytestmark = pytest.mark.timeout(1200)  # the first that asks for wheels builds the kernel

ROOT = Path(__file__).parents[2]
PARTS = ("producer", "worker", "shared", "dashboard")

OF_EXTRAS = {
    "bpefleet.shared.stores.backends.filesystems",
    "bpefleet.shared.stores.backends.sftp",
    "bpefleet.shared.stores.backends.objects",
    "bpefleet.shared.tokenizer.foreign",
}
"""Modules that import at once what an extra brings; others import them when they need it."""
IMPORT_ALL = f"""
import importlib, pkgutil, bpefleet
names = [m.name for m in pkgutil.walk_packages(bpefleet.__path__, "bpefleet.")]
for name in names:
    if not name.endswith("__main__") and name not in {OF_EXTRAS}:
        importlib.import_module(name)
print("\\n".join(names))
"""


def run(*command: str | Path, env: dict[str, str] | None = None) -> str:
    result = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, env=env
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_the_folders_of_the_package_have_one_front() -> None:
    """A second `__init__.py` would hide the parts that are not beside it."""
    folders = [*ROOT.glob("*/bpefleet"), ROOT / "kernel/python/bpefleet"]
    assert len(folders) == 5
    assert [f for f in folders if (f / "__init__.py").exists()] == [ROOT / "producer/bpefleet"]


def test_the_front_offers_what_it_names() -> None:
    for name in bpefleet.__all__:
        assert getattr(bpefleet, name) is not None
    assert bpefleet.train is bpefleet.producer.train
    with pytest.raises(AttributeError, match="no attribute 'trian'"):
        bpefleet.trian  # noqa: B018


def test_the_front_imports_nothing_until_it_is_asked() -> None:
    told = run(sys.executable, "-c", "import bpefleet, sys; print(*sys.modules)").split()
    assert {name for name in told if name.startswith("bpefleet")} == {"bpefleet"}


def test_every_copy_of_the_version_is_the_same() -> None:
    """One place holds it, `pyproject.toml`; files of others' formats repeat it."""
    (version,) = re.findall(
        r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE
    )
    assert bpefleet.__version__ == version
    assert metadata.version("bpefleet") == metadata.version("bpefleet-kernel") == version
    assert version == VERSION
    copies = {
        "shared/bpefleet/shared/version.py": r'^VERSION: Final = "(.+)"$',
        "kernel/Cargo.toml": r'^version = "(.+)"$',
        "docker-compose.yml": r"image: bpefleet:(\S+)",
        "deploy/kubernetes/image/kustomization.yaml": r"newTag: (\S+)",
        **{
            path.relative_to(ROOT).as_posix(): r"image: bpefleet:(\S+)"
            for path in (ROOT / "deploy/kubernetes").rglob("*.yaml")
            if "image: bpefleet:" in path.read_text()
        },
    }
    assert len(copies) > 5
    for path, pattern in copies.items():
        found = re.findall(pattern, (ROOT / path).read_text(), re.MULTILINE)
        assert found, path
        assert {*found} == {version}, path


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("wheels")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder,
        ROOT / "kernel", ROOT, env={**os.environ, "BPEFLEET_RELEASE": "1"})  # fmt: skip
    return sorted(folder.glob("*.whl"))


@pytest.mark.slow
def test_a_checkout_brings_its_kernel_and_a_release_names_one(wheels: list[Path]) -> None:
    """So that `pip install .`, `pipx install .` and `uv tool install .` need nothing first."""
    metadata = project_wheel_metadata(ROOT)
    needed = metadata.get_all("Requires-Dist") or ()
    assert f"bpefleet-kernel @ {(ROOT / 'kernel').as_uri()}" in needed
    with zipfile.ZipFile(wheels[0]) as wheel:
        (name,) = (each for each in wheel.namelist() if each.endswith("/METADATA"))
        assert f"Requires-Dist: bpefleet-kernel=={metadata['Version']}" in wheel.read(name).decode()


@pytest.mark.slow
def test_wheels_hold_every_module_the_types_and_the_page(wheels: list[Path]) -> None:
    held = {name for wheel in wheels for name in zipfile.ZipFile(wheel).namelist()}
    sources = [(ROOT / part, path) for part in PARTS for path in (ROOT / part).rglob("*")]
    sources += [(ROOT / "kernel/python", p) for p in (ROOT / "kernel/python").rglob("*.*")]
    wanted = {
        path.relative_to(root).as_posix()
        for root, path in sources
        if path.suffix in {".py", ".pyi", ".typed", ".html", ".css", ".js", ".j2"}
        or path.parent.name == "uplot"
    }
    assert len(wanted) > 40
    assert wanted - held == set()


@pytest.mark.slow
def test_wheels_install_into_an_empty_environment_and_import(
    wheels: list[Path], tmp_path: Path
) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", wheels[1], f"{wheels[0]}[dashboard]")
    names = run(python, "-I", "-c", IMPORT_ALL).split()
    expected = {
        "bpefleet.producer.run.pipeline",
        "bpefleet.worker.tasks",
        "bpefleet.kernel._kernel",
    }
    assert expected | OF_EXTRAS <= set(names)
    assert "train" in run(tmp_path / "env" / "bin" / "bpefleet", "--help")
