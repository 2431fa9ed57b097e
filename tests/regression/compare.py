"""Compare two recordings: ``python tests/regression/compare.py OLD.json NEW.json``.

Each case is held to the tolerance of its kind, relative to max(1, |value|). Every difference is
printed, and the exit status is 1 if there is one. A value that only the old recording has is a
difference. A value that only the new recording has is counted in a remark, and so are cases of kind
"words" that differ: remarks do not change the exit status.

Names are found again through a table of renamed parts, old name to new name: `RENAMES`, to which
``--renames FILE.json`` adds. A name is tried as it is, then with every part of it renamed; a text
value is equal to its renamed form. ``--tolerance`` holds every number to one limit, as when two
recordings of the same code are compared.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from regression.registry import TOLERANCES

#: Part of a name in the old recording → what it is called in the new one.
RENAMES = {
    "ATE": "total",
    "D0": "direct_reference",
    "D1": "direct_group",
    "d0": "indirect_reference",
    "d1": "indirect_group",
    "symNIE": "explained",
    "E_CDE": "direct_everyone",
    "overlap_weighted": "direct_overlap",
}


class Difference(NamedTuple):
    """A value that is not what it was."""

    case: str
    name: str
    what: str

    def __str__(self) -> str:
        return f"{self.case}: {self.name}: {self.what}"


class Result(NamedTuple):
    """Differences, remarks that are none, and how many values were compared."""

    differences: list[Difference]
    remarks: list[Difference]
    n_values: int


def renamed(text: str, renames: Mapping[str, str]) -> str:
    """Return a name with every part of it that has a new name renamed.

    Examples
    --------
    >>> renamed("labels/D0|scores/se", {"D0": "direct_reference"})
    'labels/direct_reference|scores/se'
    """
    parts = re.split(r"([/|])", text)
    return "".join(renames.get(part, part) for part in parts)


def compare(
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    renames: Mapping[str, str],
    tolerance: float | None = None,
) -> Result:
    """Compare the cases of two recordings."""
    differences: list[Difference] = []
    remarks: list[Difference] = []
    n_values = 0
    for case, before in old.items():
        after = new.get(case)
        if after is None:
            differences.append(Difference(case, "", "the case is missing"))
            continue
        limit = TOLERANCES[before["kind"]] if tolerance is None else tolerance
        found, more, count = compare_case(before, after, renames, limit)
        n_values += count
        marked = before.get("defaults", False)
        note = " (it rests on defaults of the library)" if marked else ""
        told = [Difference(case, name, what + note) for name, what in found]
        (remarks if before["kind"] == "words" else differences).extend(told)
        if more:
            remarks.append(Difference(case, "", f"{more} values are new"))
    return Result(differences, remarks, n_values)


def compare_case(
    before: Mapping[str, Any], after: Mapping[str, Any], renames: Mapping[str, str], limit: float
) -> tuple[list[tuple[str, str]], int, int]:
    """Return what differs, how many values are new, and how many were compared."""
    for which, entry in (("old", before), ("new", after)):
        if "error" in entry:
            return [("", f"the {which} case failed: {entry['error']}")], 0, 0
    values, found, used = after["values"], [], set()
    count = 0
    for name, value in before["values"].items():
        there = name if name in values else renamed(name, renames)
        if there not in values:
            found.append((name, "is missing"))
            continue
        used.add(there)
        for place, one, other in _pairs(value, values[there]):
            count += 1
            what = _difference(one, other, renames, limit)
            if what is not None:
                found.append((f"{name}{place}", what))
    return found, len(set(values) - used), count


def _pairs(value: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the values to compare, those of lists one by one."""
    if isinstance(value, list) and isinstance(other, list) and len(value) == len(other):
        for place, (one, another) in enumerate(zip(value, other, strict=True)):
            yield f"[{place}]", one, another
    else:
        yield "", value, other


def _difference(value: Any, other: Any, renames: Mapping[str, str], limit: float) -> str | None:
    if isinstance(value, int | float) and isinstance(other, int | float):
        size = abs(value - other) / max(1.0, abs(value))
        return None if size <= limit else f"{value!r} became {other!r} ({size:.1e} > {limit:g})"
    if isinstance(value, str) and isinstance(other, str):
        value = value if value == other else renamed(value, renames)
    return None if value == other else f"{_short(value)} became {_short(other)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"


def main(arguments: list[str]) -> int:
    """Compare, print, and return the exit status."""
    parser = argparse.ArgumentParser(description="Compare two recordings.")
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--renames", type=Path, help="JSON of old names to new names")
    parser.add_argument("--tolerance", type=float, help="one limit in place of each kind's own")
    given = parser.parse_args(arguments)
    old, new = (json.loads(path.read_text("utf-8")) for path in (given.old, given.new))
    more = {} if given.renames is None else json.loads(given.renames.read_text("utf-8"))
    result = compare(old["cases"], new["cases"], {**RENAMES, **more}, given.tolerance)
    for name in sorted(set(old["versions"]) | set(new["versions"])):
        before, after = old["versions"].get(name), new["versions"].get(name)
        if before != after:
            print(f"remark: {name} was {before} and is {after}")
    for remark in result.remarks:
        print(f"remark: {remark}")
    for difference in result.differences:
        print(f"DIFFERENT: {difference}")
    print(
        f"{len(old['cases'])} cases, {result.n_values} values compared, "
        f"{len(result.differences)} differences"
    )
    return 1 if result.differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
