"""`make audit`: what is known of the dependencies, from whichever databases can be reached.

Licences, sources and bans of the Rust crates need no network; the advisories of both languages do.
Ends with exit code 1 if something was found; a database that is out of reach is no finding, and is
named in the last lines.
"""

from __future__ import annotations

import json
import subprocess
import sys

_DENY = ("cargo", "deny", "--manifest-path", "kernel/Cargo.toml")
_PIP_AUDIT = ("-m", "pip_audit", "--skip-editable", "--progress-spinner", "off", "--format", "json")


def main() -> int:
    """Ask all; the exit code."""
    crates, packages = _crates(), _packages()
    found = crates[0] + packages[0]
    for text in found:
        print(f"found: {text}")  # noqa: T201
    for text in crates[1] + packages[1]:
        print(f"NOT ASKED: {text}")  # noqa: T201
    return 1 if found else 0


def _crates() -> tuple[list[str], list[str]]:
    """What was found, and what could not be asked."""
    if not _passes("cargo", "deny", "--version"):
        return [], ["anything of the crates: cargo install --locked cargo-deny"]
    found, unasked = [], []
    if not _passes(*_DENY, "check", "licenses", "bans", "sources"):
        found.append("licences, versions or sources of crates, see above")
    if not _passes(*_DENY, "fetch", "db"):
        unasked.append("advisories of crates: RustSec's database is out of reach")
    elif not _passes(*_DENY, "check", "--disable-fetch", "advisories"):
        found.append("advisories of crates, see above")
    return found, unasked


def _packages() -> tuple[list[str], list[str]]:
    """Likewise for all that is installed beside this interpreter."""
    # Its last word on stderr is that nothing was found, even where it could ask of nothing.
    done = subprocess.run(
        [sys.executable, *_PIP_AUDIT], capture_output=True, text=True, check=False
    )
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except json.JSONDecodeError:
        last = done.stderr.strip().rpartition("\n")[2]
        return [], [f"advisories of Python packages, PyPI's database: {last}"]
    found = [
        f"{package['name']} {package['version']}: {advisory['id']}"
        for package in packages
        for advisory in package.get("vulns", ())
    ]
    skipped = [package["name"] for package in packages if "skip_reason" in package]
    named = ", ".join(skipped[:5]) + (" and others" if len(skipped) > 5 else "")
    what = f"advisories of {len(skipped)} of {len(packages)} Python packages: {named}"
    return found, [what] if skipped else []


def _passes(*command: str) -> bool:
    print(f"$ {' '.join(command)}", flush=True)  # noqa: T201
    return subprocess.run(command, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
