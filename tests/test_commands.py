"""Every command that a page tells its reader to type is listed, and typed by a test there where he
would type it.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tomllib
import urllib.request
from pathlib import Path

import pytest
import websocket
from conftest import when_up
from IPython.core.interactiveshell import InteractiveShell

from helpers.folders import ROOT

LISTED = tomllib.loads((ROOT / "tests/commands.toml").read_text(encoding="utf-8"))
PROGRAMS = set(LISTED.pop("programs"))
PAGES = (
    "[A-Z]*.md",
    "[a-z]*/README.md",
    "classroom/*/README.md",
    "data/samples/*.md",
    "notebooks/**/*.md",
    "helpers/classroom/template/*.md",
    "teacher/*.md",
    "notebooks/*.ipynb",
    "notebooks/own_code/*.ipynb",
    "exercises/*/*/prompt.md",
    "exercises/*/quizzes.toml",
    "data/*.toml",
)
COMMAND = re.compile(rf"(\.venv/bin/\S+|{'|'.join(map(re.escape, PROGRAMS))}) ")
FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)


def commands(page: Path) -> set[str]:
    """The lines of a page's blocks for a shell; and of its other blocks and code spans, what begins
    with a program's name and goes on after it: `lsof` names a program, `lsof +L1` is a command.
    """
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n\n".join(
            "".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"
        )
    found = [
        (line, language in ("sh", "powershell"))
        for language, block in FENCE.findall(text)
        for line in block.splitlines()
    ]
    text = FENCE.sub("", text)
    found += [(words, False) for words in re.findall(r"^    (\S.*)", text, re.MULTILINE)]
    found += [(words, False) for _, words in SPAN.findall(text)]
    plain = [(re.sub(r"(^|\s+)# .*", "", " ".join(words.split())), sure) for words, sure in found]
    return {words for words, sure in plain if words and (sure or COMMAND.match(words))}


def test_every_command_of_a_page_is_in_the_list_and_no_other():
    files = [path for pattern in PAGES for path in ROOT.glob(pattern)]
    on_pages = {
        command: path.relative_to(ROOT).as_posix() for path in files for command in commands(path)
    }
    listed = [command for kind in LISTED.values() for command in kind]
    assert {command: page for command, page in on_pages.items() if command not in listed} == {}, (
        "not in the list"
    )
    assert set(listed) - on_pages.keys() == set(), "no page has these"
    assert len(listed) == len(set(listed)) and all(LISTED["untried"].values()), (
        "twice, or without a reason"
    )
    for command, place in LISTED["elsewhere"].items():
        file, _, words = place.partition(": ")
        assert words and words in (ROOT / file).read_text(encoding="utf-8"), (
            f"{command}: {file} has no {words!r}"
        )


# --- typed ----------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the course, with links to this environment. If a `make` cleared it, only links
    would be gone.
    """
    if sys.platform != "linux":
        pytest.skip("another system's commands")
    folder = tmp_path_factory.mktemp("typed") / "course"
    left_out = (
        ".git",
        ".venv*",
        "my_lessons",
        "generated",
        "build",
        "course",
        "models",
        "grades",
        "__pycache__",
    )
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*left_out))
    (folder / ".venv").mkdir()
    for path in Path(sys.prefix).iterdir():
        if not path.name.startswith("made-"):
            (folder / ".venv" / path.name).symlink_to(path)
    said = subprocess.run(
        ["make", "-np"], cwd=folder, env=bare(folder), text=True, capture_output=True
    ).stdout
    made = re.search(r"^MADE := (.*)", said, re.MULTILINE)[1]
    for stamp in (made, f"{made}-dev"):
        (folder / stamp).touch()
    (folder / "script.py").write_text("data = bytearray(64 * 2**20)\n")
    steps = (
        "import sys\n\n@profile\ndef steps(path):\n    return "
        "open(path).read()\n\nsteps(sys.argv[1])\n"
    )
    (folder / "steps.py").write_text(steps)
    return folder


def bare(course: Path) -> dict[str, str]:
    """The variables of a plain terminal, with no environment active."""
    home = str(course.parent)
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": home,
        "SHELL": "/bin/bash",
        "LANG": "C.UTF-8",
        "JUPYTER_TOKEN": "student",
    }


def lines(*kinds: str) -> list[str]:
    """What is typed: each command, or the line that stands in its place, with a free port for
    8000.
    """
    with socket.create_server(("localhost", 0)) as free:
        port = str(free.getsockname()[1])
    return [
        (line or command).replace("8000", port)
        for kind in kinds
        for command, line in LISTED[kind].items()
    ]


def numbered(typed: list[str]) -> list[str]:
    """Each line, and after it one that prints its number and how it ended."""
    return [f"{line}\nprintf '\\nline-%s=%s\\n' {i} $?" for i, line in enumerate(typed)]


def all_went_well(typed: list[str], said: str) -> None:
    codes = dict(re.findall(r"^line-(\d+)=(\d+)", said, re.MULTILINE))
    failed = {
        line: codes.get(str(i), "no end")
        for i, line in enumerate(typed)
        if codes.get(str(i)) != "0"
    }
    assert failed == {}, said


@pytest.mark.needs(tool="curl, lsof, pstree")
@pytest.mark.slow
@pytest.mark.measured  # a server must be there after a `sleep`
def test_in_a_shell(course: Path):
    typed = lines("both", "shell")
    of_make = [
        command
        for command in LISTED["elsewhere"] | LISTED["untried"]
        if command.startswith("make ")
    ]
    typed += [command.replace("make", "make -n", 1) for command in of_make]
    script = "\n".join(["trap 'kill $(jobs -p)' EXIT", *numbered(typed)])
    done = subprocess.run(
        ["timeout", "100", "bash", "-c", script],
        cwd=course,
        env=bare(course),
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    all_went_well(typed, done.stdout)


@pytest.mark.needs(tool="curl, lsof, pstree")
@pytest.mark.slow
@pytest.mark.measured
def test_in_a_terminal_of_jupyterlab(course: Path):
    """Of `make lab PYTHON=…`: a `make` that is typed there must not take PYTHON over and clear the
    environment.
    """
    (made,) = (path.relative_to(course) for path in course.glob(".venv/made-*[0-9]"))
    command = ["make", "-o", made, "lab", "PYTHON=python3", "LABARGS=--no-browser --port=0"]
    with open(course / "jupyter.log", "w") as log:
        server = subprocess.Popen(
            command, cwd=course, env=bare(course), stderr=log, start_new_session=True
        )
    try:
        typed = ['test -z "$MAKEFLAGS$MAKELEVEL"', *lines("both", "lab", "twice", "twice")]
        all_went_well(typed, typed_there(when_up(course / "jupyter.log", server), numbered(typed)))
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(60)


def typed_there(address: str, typed: list[str]) -> str:
    """What a new terminal shows, begun in the course's folder as one from the launcher."""
    key = {"Authorization": "token student"}
    said = ""
    with urllib.request.urlopen(
        urllib.request.Request(f"{address}/api/terminals", b'{"cwd": ""}', key)
    ) as answer:
        url = f"{address}/terminals/websocket/{json.load(answer)['name']}".replace("http", "ws", 1)
    # less than between two of its pings
    terminal = websocket.create_connection(url, header=key, timeout=25)
    for i, text in enumerate(typed):
        terminal.send(json.dumps(["stdin", text.replace("\n", "\r") + "\r"]))
        while not re.search(rf"^line-{i}=\d", said, re.MULTILINE):
            kind, *shown = json.loads(terminal.recv())
            said += shown[0] if kind == "stdout" else ""
    terminal.close()
    return said


def test_in_a_cell(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]):
    for cell in ("def f(x):\n    return bytes(x)", "x = 2**20; f(9)", "f(9)"):
        shell.run_cell(cell, store_history=True)
    for command, line in LISTED["cell"].items():
        assert shell.run_cell(line or command).success and "Error" not in capsys.readouterr().out, (
            command
        )
