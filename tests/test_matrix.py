"""`make matrix` leaves nothing behind, however it ends, and says why it can't run."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from helpers.folders import ROOT

pytest.importorskip("fcntl", reason="Linux only")
import matrix

AS_ROOT = sys.platform == "linux" and os.geteuid() == 0


def started(script: str, *arguments: object) -> subprocess.Popen:
    """Starts a process, and waits until it says "ready"."""
    command = [sys.executable, "-c", f"import sys, time; import matrix; from pathlib import Path\n{script}"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.Popen([*command, *map(str, arguments)], env=environment, stdout=subprocess.PIPE, text=True)
    assert "ready" in process.stdout.readline()
    return process


def soon(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + 20
    while not holds() and time.monotonic() < until:
        time.sleep(0.02)
    return holds()


WHILE = """
with matrix.huge_pages("always", *map(Path, sys.argv[1:])):
    print("ready", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT])
def test_the_machine_s_setting_is_put_back(tmp_path: Path, by: signal.Signals):
    setting, note = tmp_path / "enabled", tmp_path / "note"
    setting.write_text("always [madvise] never\n")
    with started(WHILE, setting, note) as process:
        assert setting.read_text() == "always" and note.read_text() == "madvise"
        process.send_signal(by)
    assert soon(lambda: setting.read_text() == "madvise" and not note.exists())


def test_the_next_run_puts_back_what_nobody_could(tmp_path: Path):
    setting, note = tmp_path / "enabled", tmp_path / "note"
    setting.write_text("always [madvise] never\n")
    with started(WHILE, setting, note) as process:
        for one in (*psutil.Process(process.pid).children(), process):
            one.kill()
    assert setting.read_text() == "always"
    matrix.restore(setting, note)
    assert setting.read_text() == "madvise" and not note.exists()
    matrix.restore(setting, note)


def test_a_machine_without_the_tool_or_the_room_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(matrix, "FOLDER", tmp_path)
    with pytest.raises(matrix.Skipped, match=r"there is no mkfs\.nothing"):
        list(matrix.run(matrix.Row("", "mkfs.nothing"), []))
    monkeypatch.setattr(matrix, "DISK", 2**60)
    with pytest.raises(matrix.Skipped, match=r"it needs .* GiB are free"):
        list(matrix.run(matrix.Row("", "sh"), []))


@pytest.mark.skipif(AS_ROOT, reason="root can")
def test_who_is_not_root_is_told(capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "argv", ["matrix.py", "--rows", "tmpfs"])
    assert matrix.main() == 0 and "takes Linux and root" in capsys.readouterr().out


def test_what_is_run_each_time_is_there():
    asked = re.findall(r'make matrix MATRIXARGS="--rows ([^"]+) --lessons ([^"]+)"', (ROOT / ".ci" / "run").read_text())
    assert len(asked) == 2
    for rows, lessons in asked:
        assert set(rows.split()) <= set(matrix.ROWS) and set(lessons.split()) <= set(matrix.LESSONS)


ROWS = """
matrix.FOLDER = Path(sys.argv.pop(1))
matrix.ROWS["ext4"] = matrix.Row(matrix.ROWS["ext4"].make + "; echo '\\"ready\\"'; sleep 60", "mkfs.ext4")
real = matrix.run


def run(row, numbers):
    for one in real(row, numbers):
        print(one, flush=True)
    yield {}


matrix.run = run
sys.argv[1:] = ["--rows", "ext4"]
sys.exit(matrix.main())
"""


@pytest.mark.skipif(not AS_ROOT, reason="it mounts file systems, which takes root")
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_mount_no_loop_device_and_no_process_is_left(tmp_path: Path, by: signal.Signals):
    folder = tmp_path / "matrix"
    with started(ROWS, folder) as process:
        made = psutil.Process(process.pid).children(recursive=True)
        assert loops(folder) == 1 and made
        process.send_signal(by)
    assert soon(lambda: not loops(folder) and not any(one.is_running() for one in made))
    assert folder.exists() == (by == signal.SIGKILL)
    if by == signal.SIGKILL:
        with started(ROWS, folder) as process:
            assert len(list(folder.glob("row-*"))) == 1, "what the first run left has gone"
            process.terminate()
    assert not folder.exists() and str(folder) not in Path("/proc/mounts").read_text()


def loops(folder: Path) -> int:
    """How many loop devices have an image from that folder; losetup still lists a name that's gone."""
    return subprocess.run(["losetup", "-l"], capture_output=True, text=True).stdout.count(str(folder))
