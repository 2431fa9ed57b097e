"""What the install lines of README.md put on the disk, and how long that takes.

A wheel of the working tree is built and installed into an empty environment by each installer, with
nothing cached. Sizes are of all files of a package, without pip and setuptools. The times include
downloads, so they depend on the network.

    python benchmarks/install.py
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = Path(__file__).with_suffix(".md")
#: Belongs to the environment, not to what is installed.
OWN = re.compile(r"^(pip|setuptools|pkg_resources|_distutils_hack|uv)\b")
#: Packages with a line of their own.
LISTED = 9


def main() -> None:
    """Install both lines by each installer, and write the page."""
    lines = re.findall(r'^pip install "unsway\[(.*?)\]"', (ROOT / "README.md").read_text(), re.M)
    installers = ["pip", *(["uv"] if shutil.which("uv") else [])]
    busy = os.getloadavg()[0] / (os.cpu_count() or 1)
    with tempfile.TemporaryDirectory() as folder:
        wheel = build(Path(folder))
        found = {
            (extras, tool): install(wheel, extras, tool, Path(folder))
            for extras in lines
            for tool in installers
        }
    PAGE.write_text(render(found, busy), "utf-8")
    print(PAGE.read_text("utf-8"))


def build(folder: Path) -> Path:
    """Return a wheel of the working tree."""
    run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder), "."])
    return next(folder.glob("unsway-*.whl"))


def install(wheel: Path, extras: str, tool: str, folder: Path) -> tuple[float, dict[str, int]]:
    """Return the seconds that it took, and the bytes by package."""
    place = folder / f"{tool}-{extras.replace(',', '-')}"
    run([sys.executable, "-m", "venv", str(place)])
    python, target = str(place / "bin" / "python"), f"{wheel}[{extras}]"
    begun = time.perf_counter()
    if tool == "uv":
        run(["uv", "pip", "install", "--quiet", "--no-cache", "--python", python, target])
    else:
        run([python, "-m", "pip", "install", "--quiet", "--no-cache-dir", target])
    return time.perf_counter() - begun, sizes(next((place / "lib").glob("python*/site-packages")))


def sizes(site: Path) -> dict[str, int]:
    """Return the bytes of each package; libraries bundled with it count with it."""
    found: dict[str, int] = {}
    for each in site.iterdir():
        name = re.sub(r"(\.libs|-[\d.]+.*\.dist-info|\.dist-info)$", "", each.name)
        if not OWN.match(name):
            files = [each] if each.is_file() else list(each.rglob("*"))
            found[name] = found.get(name, 0) + sum(
                path.stat().st_size for path in files if path.is_file() and not path.is_symlink()
            )
    return found


def render(found: dict[tuple[str, str], tuple[float, dict[str, int]]], busy: float) -> str:
    """Return the page."""
    head = [
        "# What an install takes",
        "",
        "Megabytes on disk next to Python, pip and setuptools, and seconds, by "
        "`benchmarks/install.py`, in an empty environment without a cache. pip compiles every "
        f"file to bytecode, uv does not. At the start {busy:.1f} processes per core were running.",
        "",
        "| extras | installer | MB | seconds |",
        "|---|---|---|---|",
    ]
    for (extras, tool), (seconds, packages) in found.items():
        head.append(f"| `{extras}` | {tool} | {mega(sum(packages.values()))} | {seconds:.0f} |")
    (extras, tool), (_, packages) = list(found.items())[-1]
    largest = sorted(packages, key=packages.__getitem__, reverse=True)[:LISTED]
    rest = sum(size for name, size in packages.items() if name not in largest)
    head += ["", f"The largest packages of `{extras}`, by {tool}:", "", "| package | MB |"]
    head += ["|---|---|", *(f"| {name} | {mega(packages[name])} |" for name in largest)]
    return "\n".join([*head, f"| all others | {mega(rest)} |", ""])


def mega(size: int) -> str:
    """Return bytes as megabytes."""
    return f"{size / 1e6:.0f}"


def run(command: list[str]) -> None:
    """Run a command that sees no other copy of the package."""
    hidden = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(command, check=True, cwd=ROOT, env=hidden)


if __name__ == "__main__":
    main()
