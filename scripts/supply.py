"""The packages of the development environment: lock, licences, SBOM and known vulnerabilities.

    python scripts/supply.py lock requirements-dev.lock
    python scripts/supply.py sbom dist
    python scripts/supply.py audit requirements-dev.lock

Only the standard library and pip are needed; ``audit`` uses pip-audit where it is installed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from hashlib import sha256
from importlib.metadata import Distribution, distributions
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
#: What the lock is of: the groups and extras that `make test` installs, without the frameworks of
#: networks, whose builds depend on the machine.
GROUPS, EXTRAS = (
    ("lint", "test"),
    ("cli", "dask", "excel", "lightgbm", "parquet", "plot", "report", "xgboost-cpu"),
)
#: What pip-audit says where it reaches no database.
UNREACHABLE = re.compile(r"ConnectionError|Max retries|NameResolution|ProxyError|Timeout|50\d ")


def wanted() -> str:
    """Return a digest of what pyproject.toml asks for, which the lock was made from."""
    content = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    project, groups = content["project"], content["dependency-groups"]
    parts = [project["dependencies"], [project["optional-dependencies"][each] for each in EXTRAS]]
    parts.append([groups[each] for each in (*GROUPS, "frames")])
    return sha256(json.dumps(parts).encode()).hexdigest()[:16]


def lock(path: Path) -> None:
    """Write version and hash of every package that pip would install here."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run"]
        command += ["--ignore-installed", "--report", str(report), f"{ROOT}[{','.join(EXTRAS)}]"]
        command += [
            part for group in GROUPS for part in ("--group", f"{ROOT}/pyproject.toml:{group}")
        ]
        subprocess.run(command, check=True)
        found = json.loads(report.read_text("utf-8"))
    path.write_text(locked(found), encoding="utf-8")


def locked(report: dict[str, Any]) -> str:
    """Return a report of pip as requirements with hashes; it names no index and no file."""
    version = ".".join(map(str, sys.version_info[:2]))
    lines = [
        f"# Made by `make lock` for Python {version} on {sys.platform}, with a hash of each file.",
        f"# pyproject {wanted()}",
    ]
    for each in sorted(report["install"], key=lambda each: each["metadata"]["name"].lower()):
        if "archive_info" not in each["download_info"]:
            continue  # the project itself
        digest = each["download_info"]["archive_info"]["hashes"]["sha256"]
        about = each["metadata"]
        lines.append(f"{about['name']}=={about['version']} --hash=sha256:{digest}")
    return "\n".join(lines) + "\n"


def packages() -> Iterator[tuple[str, str, str]]:
    """Yield name, version and licence of every installed package, by name."""
    known = {each.metadata["Name"]: each for each in distributions() if each.metadata["Name"]}
    for name in sorted(known, key=str.lower):
        yield name, known[name].version, licence_of(known[name])


def licence_of(found: Distribution) -> str:
    """Return the licence a package states: as an expression, by classifier, or as a line."""
    about = found.metadata
    expression = about.get("License-Expression")
    if expression:
        return str(expression)
    kinds = [each.rpartition(" :: ")[2] for each in about.get_all("Classifier") or []
             if each.startswith("License ::")]  # fmt: skip
    line = (about.get("License") or "").strip().splitlines()
    return ", ".join(kinds) or (line[0][:60] if line else "not stated")


def sbom(folder: Path) -> None:
    """Write the installed packages as a CycloneDX document and as a table of licences."""
    folder.mkdir(parents=True, exist_ok=True)
    known = list(packages())
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "components": [
            {
                "type": "library",
                "name": name,
                "version": version,
                "purl": f"pkg:pypi/{re.sub(r'[-_.]+', '-', name).lower()}@{version}",
                "licenses": [{"license": {"name": licence}}],
            }
            for name, version, licence in known
        ],
    }
    (folder / "sbom.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    rows = [f"| {name} | {version} | {licence} |" for name, version, licence in known]
    table = ["| package | version | licence |", "|---|---|---|", *rows]
    (folder / "licences.md").write_text("\n".join(table) + "\n", encoding="utf-8")


def audit(path: Path) -> int:
    """Look for known vulnerabilities of the locked packages; return the exit status."""
    if find_spec("pip_audit") is None:
        print("skipped: pip-audit is not installed")
        return 0
    command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes"]
    done = subprocess.run(
        [*command, "--requirement", str(path)], capture_output=True, text=True, check=False
    )
    if done.returncode and UNREACHABLE.search(done.stderr):
        print("skipped: no database of vulnerabilities can be reached")
        return 0
    print(done.stdout + done.stderr)
    return done.returncode


if __name__ == "__main__":
    task, place = sys.argv[1], Path(sys.argv[2])
    sys.exit({"lock": lock, "sbom": sbom, "audit": audit}[task](place))
