"""Runs rows and keeps what happened in data/recorded/copies/, beside the runs of other versions:
`python -m helpers.copies.kept numpy …`.
"""

import json
import platform
import sys
from dataclasses import asdict

from ..folders import RECORDED, write_whole
from .files import Library, libraries
from .run import Found, Run, run

FOLDER = RECORDED / "copies"


def kept(library: Library) -> list[Run]:
    """Its runs, of the newest versions first; [] if there are none."""
    path = FOLDER / f"{library.name}.json"
    if not path.exists():
        return []
    return [
        Run(
            one["versions"],
            {name: tuple(Found(**side) for side in sides) for name, sides in one["found"].items()},
        )
        for one in json.loads(path.read_text(encoding="utf-8"))
    ]


def keep(library: Library) -> Run:
    """Runs the rows here. What was kept of the same versions goes."""
    ran = run(library)
    ran.versions["Python"] = platform.python_version()
    others = [one for one in kept(library) if one.versions != ran.versions]
    runs = sorted([ran, *others], key=_newest, reverse=True)
    plain = [
        {
            "versions": one.versions,
            "found": {name: [*map(_plain, sides)] for name, sides in one.found.items()},
        }
        for one in runs
    ]
    write_whole(FOLDER / f"{library.name}.json", json.dumps(plain) + "\n")
    return ran


def _newest(one: Run) -> list[list[int]]:
    return [[int(n) for n in text.split(".") if n.isdigit()] for text in one.versions.values()]


def _plain(found: Found) -> dict[str, float | str | None]:
    """Without what it lacks; shares with two digits."""
    return {
        key: round(value, 2) if isinstance(value, float) else value
        for key, value in asdict(found).items()
        if value not in ("", 0.0) or key == "shared"
    }


def main(names: list[str]) -> None:
    for library in libraries():
        if library.name in names or not names:
            ran = keep(library)
            wrong = [row.name for row in library.rows if not ran.holds(row)]
            told = f"{len(library.rows)} rows, {ran.versions}"
            print(f"{library.name}: {told}", *(f"\n  not as it says: {name}" for name in wrong))


if __name__ == "__main__":
    main(sys.argv[1:])
