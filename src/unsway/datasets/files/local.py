"""A table that does not ship with the package: finding it on the user's disk and reading it."""

from __future__ import annotations

import csv
import io
import os
from dataclasses import dataclass
from pathlib import Path

from . import unpack

__all__ = ["DATA_VARIABLE", "LocalTable"]

#: The environment variable that names the folder to look in when no path is given.
DATA_VARIABLE = "UNSWAY_DATA"


@dataclass(frozen=True)
class LocalTable:
    """A file as its publisher made it.

    Parameters
    ----------
    name : str
        What to call the data in an error.
    folder, file : str
        Where it lies below the folder that UNSWAY_DATA names; ".gz" may follow.
    sha256 : str
        The checksum of the decompressed bytes.
    delimiter : str
        What separates the fields.
    header : str
        The first line, with commas for delimiters.
    target, age : str
        The columns with the label (1 = bad) and the age.
    """

    name: str
    folder: str
    file: str
    sha256: str
    delimiter: str
    header: str
    target: str
    age: str

    @property
    def fields(self) -> list[str]:
        """The names of the columns, in order."""
        return self.header.split(",")

    def find(self, path: str | os.PathLike[str] | None) -> Path:
        """Return the file, given its path, a folder or nothing; or say where it was looked for."""
        stated = path if path is not None else os.environ.get(DATA_VARIABLE)
        advice = (
            f"pass the path of {self.file} (or .gz), or set {DATA_VARIABLE} to the folder that "
            f"holds {self.folder}/"
        )
        if not stated:
            raise FileNotFoundError(f"{self.name} does not ship with unsway: {advice}")
        place = Path(stated).expanduser()
        if place.is_file():
            return place
        names = (f"{self.file}.gz", self.file)
        candidates = [folder / name for folder in (place / self.folder, place) for name in names]
        for candidate in candidates:
            if candidate.is_file():
                return candidate
        looked = " or ".join(map(str, candidates)) if place.is_dir() else str(place)
        raise FileNotFoundError(f"{self.name}: there is no {looked}; {advice}")

    def read(self, path: str | os.PathLike[str] | None, *, check: bool) -> list[list[str]]:
        """Return the fields of each row; with `check`, refuse a file with another checksum."""
        found = self.find(path)
        hint = "get the file again, or pass check=False to read it all the same"
        sha256 = self.sha256 if check else None
        text = unpack(found.read_bytes(), str(found), sha256, otherwise=hint)
        # Between tabs a quote is a letter like any other; it must not swallow lines.
        quote = None if self.delimiter == "\t" else '"'
        lines = io.StringIO(text, newline="")
        reader = csv.reader(lines, delimiter=self.delimiter, quotechar=quote)
        try:
            header, *rows = [row for row in reader if row] or [[]]
        except csv.Error as error:
            raise ValueError(f"{found} is not a table of {self.name}: {error}") from None
        self._check_shape(header, rows, found)
        return rows

    def _check_shape(self, header: list[str], rows: list[list[str]], found: Path) -> None:
        if header != self.fields:
            absent = [name for name in self.fields if name not in header]
            wrong = f"lacks {', '.join(map(repr, absent))}" if absent else "their order differs"
            raise ValueError(
                f"{found} does not have the {len(self.fields)} columns of {self.name}: it has "
                f"{len(header)}, and {wrong}"
            )
        ragged = [number for number, row in enumerate(rows, 1) if len(row) != len(header)]
        if ragged:
            raise ValueError(
                f"{found} has {len(ragged)} rows with other than {len(header)} fields, the first "
                f"is row {ragged[0]} below the header; get the file again"
            )
        if not rows:
            raise ValueError(f"{found} has no rows below its header; get the file again")
