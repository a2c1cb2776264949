"""The shell lines that lesson 11 tells you to type do what it says, also when they are typed twice,
too early or four times at once.
"""

import json
import os
import re
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest
from tables import each_of

from helpers.folders import NOTEBOOKS
from helpers.units import MiB

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the lines are typed in a shell")

LESSON = json.loads(
    (NOTEBOOKS / "11_serve_a_model_while_it_changes.ipynb").read_text(encoding="utf-8")
)
PROSE = "\n".join(
    "".join(cell["source"]) for cell in LESSON["cells"] if cell["cell_type"] == "markdown"
)
BEFORE = {
    "keep": "under a name of its own:",
    "publish": "nobody does.\n\n</details>\n\n**Mend it:**",
    "go back": "To go back,",
}
LINES = {
    step: re.search(re.escape(words) + r"[^`]*`([^`]+)`", PROSE)[1]
    for step, words in BEFORE.items()
}


@each_of(
    "typed",
    ["keep", "go back", "publish", "go back"],
    ["keep", "keep", "go back", "go back", "publish", "publish", "go back"],
    ids=", ".join,
)
def test_no_order_of_the_lines_cuts_a_served_file_or_loses_the_kept_one(
    typed: list[str], tmp_path: Path
):
    m, kept, new = (tmp_path / name for name in ("m", "m.v3", "new"))
    m.write_text("version 3, the longer one")
    new.write_text("version 4")
    third = m.read_text()
    with ExitStack() as opened:
        readers = []  # of every file that had the name m, with what was in it
        for step in typed:
            readers.append((opened.enter_context(m.open()), m.read_text()))
            subprocess.run(LINES[step], shell=True, cwd=tmp_path, capture_output=True)
            assert kept.read_text() == third, f"{step}: the kept version is lost"
            assert step == "keep" or m.read_text() == (
                third if step == "go back" else new.read_text()
            ), step
            for file, text in readers:
                file.seek(0)
                assert file.read() == text, f"{step}: it changed a file that was being served"


@each_of("step", "publish", "go back")
def test_four_at_once_each_serve_a_whole_file(step: str, tmp_path: Path):
    """A job that takes longer than the time to the next one overlaps with it."""
    m, kept, new = (tmp_path / name for name in ("m", "m.v3", "new"))
    m.write_text("the old one")
    for source in (kept, new):
        source.write_bytes(os.urandom(16 * MiB))
    jobs = [subprocess.Popen(LINES[step], shell=True, cwd=tmp_path) for _ in range(4)]
    seen = set()
    while any(job.poll() is None for job in jobs):
        seen.add(m.stat().st_size)
    assert [job.returncode for job in jobs] == [0] * 4
    assert seen <= {len("the old one"), 16 * MiB}
    assert m.read_bytes() == (kept if step == "go back" else new).read_bytes()
