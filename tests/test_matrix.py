"""`make matrix` changes a setting of the whole machine for a while, and puts it back."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

pytest.importorskip("fcntl", reason="Linux only")
import matrix
from serving import until

WHILE = """
import sys, time, matrix
from pathlib import Path
with matrix.huge_pages("always", *map(Path, sys.argv[1:])):
    print("ready", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("helper_too", [False, True])
def test_the_setting_is_put_back_by_a_helper_or_by_the_next_run(tmp_path: Path, helper_too: bool):
    setting = tmp_path / "enabled"
    note = tmp_path / "note"
    setting.write_text("always [madvise] never\n")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", WHILE, setting, note]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        assert setting.read_text() == "always"
        assert note.read_text() == "madvise"
        for one in (*psutil.Process(process.pid).children()[: int(helper_too)], process):
            one.kill()
    if helper_too:
        assert setting.read_text() == "always"
        matrix.restore(setting, note)
    assert until(lambda: not note.exists())
    assert setting.read_text() == "madvise"
