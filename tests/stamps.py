"""What is tested only when something that it depends on has changed. tests/stamps.json has a hash
of each part's inputs as they were when it was last tested. `make test-slow` skips tests with
`@pytest.mark.stamped(part=…)` while it's the same; `make test-all` runs them, and then writes the
hashes that this prints before, of what was tested.
"""

import json
import os
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from helpers.folders import ROOT

FILE = ROOT / "tests" / "stamps.json"
ENGINE = ("helpers/*.py", "helpers/measure", "environment/*.lock", "tests/conftest.py")
INPUTS = {
    "answers": (
        *ENGINE,
        "helpers/ideas",
        "helpers/make",
        "helpers/serve",
        "helpers/teach",
        "exercises",
        "tests/test_exercises.py",
    ),
    "cases": (*ENGINE, "helpers/casebook", "cases", "tests/test_casebook.py"),
    "rust": (
        "helpers/measure/twins.py",
        "helpers/publish/record.py",
        "notebooks/rust",
        "data/recorded/rust",
        "tests/test_rust.py",
    ),
}
MADE = {"__pycache__", "target"}


def files(part: str) -> Iterator[Path]:
    for pattern in INPUTS[part]:
        for found in sorted(ROOT.glob(pattern)):
            yield from sorted(
                path
                for path in ([found] if found.is_file() else found.rglob("*"))
                if path.is_file()
            )


def stamp(part: str) -> str:
    digest = sha256("{}.{}".format(*sys.version_info).encode())
    for path in files(part):
        name = path.relative_to(ROOT)
        if not MADE & set(name.parts):
            digest.update(f"\0{name.as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def is_unchanged(part: str) -> bool:
    heeded = os.environ.get("ZERO_COPY_STAMPS") == "heed"
    return heeded and json.loads(FILE.read_text()).get(part) == stamp(part)


if __name__ == "__main__":
    from tools import TOOLS, is_here

    if missing := [tool for tool in TOOLS if tool != "root" and not is_here(tool)]:
        print(
            "The stamps stay as they are, because not all is tested; missing: "
            f"{', '.join(missing)}",
            file=sys.stderr,
        )
        print(FILE.read_text(), end="")
    else:
        print(json.dumps({part: stamp(part) for part in INPUTS}, indent=1))
