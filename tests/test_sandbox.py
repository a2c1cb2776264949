"""The sandbox: what a student's function can reach in it, and what ends it. With the real
bubblewrap.
"""

import errno
import os
import platform
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_judge import notebook

from helpers.classroom import sandbox, seccomp
from helpers.classroom.judge import NOT_CHECKED, verdicts
from helpers.folders import EXERCISES, ROOT, scratch_folder
from helpers.measure import Recording
from helpers.measure.run import Options, measured
from helpers.teach import exercise
from helpers.units import MiB

needed = pytest.mark.needs(tool="bubblewrap")


@pytest.fixture
def folder():
    with scratch_folder("sandbox") as path:
        yield path


def inside(function, *args, folder: Path, **options) -> Recording:
    fence = sandbox.fence(folder)
    return measured(
        function, args, Options(command=fence.command(), stop=fence.stop, timeout=15, **options)
    )


@needed
def test_it_sees_python_and_its_folder_and_nothing_else(folder: Path, tmp_path: Path):
    def looks(paths):
        import os
        from pathlib import Path

        import numpy  # noqa: F401  a package of this environment

        def is_there(path):
            try:
                return Path(path).exists() and any(True for _ in os.scandir(path))
            except OSError:
                return False

        Path("made.txt").write_text("here")
        return (
            os.getcwd(),
            [is_there(path) for path in paths],
            sorted(map(int, filter(str.isdigit, os.listdir("/proc")))),
        )

    (tmp_path / "gradebook.csv").touch()
    paths = [
        EXERCISES,
        ROOT / "tests",
        ROOT / "teacher",
        ROOT / ".git",
        tmp_path,
        "/root",
        "/var",
        "/sys",
    ]
    here, seen, processes = inside(looks, list(map(str, paths)), folder=folder).value
    assert Path(here) == folder
    assert (folder / "made.txt").read_text() == "here"
    assert seen == [False] * len(paths)
    assert processes == [1]


@needed
@pytest.mark.parametrize(
    "path", [ROOT / "helpers/units.py", Path(sys.prefix, "pyvenv.cfg"), Path("/usr/lib/os-release")]
)
def test_what_it_reads_it_cannot_write(folder: Path, path: Path):
    if not path.exists():
        pytest.skip(f"there is no {path}")
    run = inside(lambda path: path.open("ab").write(b"#"), path, folder=folder)
    assert run.ended == "raised"
    assert "Read-only" in run.error or "Permission" in run.error


@needed
@pytest.mark.skipif(
    platform.machine() not in seccomp.NUMBERS, reason="no filter for this kind of machine"
)
def test_what_no_namespace_keeps_apart_is_refused(folder: Path):
    """Keys are the teacher's, a lease on a shared file makes others wait, a VSOCK socket leaves the
    machine, and what System V keeps is in nobody's count.
    """

    def tries(keyctl: int, shmget: int) -> list[str]:
        import ctypes
        import fcntl
        import os
        import socket

        libc = ctypes.CDLL(None, use_errno=True)

        def call(*numbers: int) -> str:
            return "done" if libc.syscall(*numbers) >= 0 else os.strerror(ctypes.get_errno())

        def attempt(action) -> str:
            try:
                action()
            except OSError as error:
                return error.strerror
            return "done"

        with open(os.__file__) as ours, socket.socket(socket.AF_UNIX), open("own", "wb") as own:
            return [
                call(keyctl, 0, -4, 0),
                call(shmget, 0, 4096, 0o1600),
                attempt(lambda: fcntl.fcntl(ours, fcntl.F_SETLEASE, fcntl.F_RDLCK)),
                attempt(lambda: socket.socket(40, socket.SOCK_STREAM)),
                attempt(lambda: fcntl.flock(own, fcntl.LOCK_EX)),
            ]

    found = inside(
        tries, seccomp.number_of("keyctl"), seccomp.number_of("shmget"), folder=folder
    ).value
    assert found == ["Operation not permitted"] * 4 + ["done"]


@needed
def test_descriptors_on_their_way_leave_room_for_the_teacher_s(folder: Path):
    """They count for the user, unix(7): at 1,024 most programs can send none."""

    def sent() -> tuple[int, int]:
        import socket

        lines = []
        for count in range(0, 2_000, 250):
            lines += socket.socketpair()
            try:
                socket.send_fds(lines[-1], [b"x"], [0] * 250)
            except OSError as error:
                return count, error.errno
        return count, 0

    count, why = inside(sent, folder=folder).value
    assert (count < 1024, why) == (True, errno.ETOOMANYREFS)


@needed
def test_what_is_in_memory_cannot_be_written_or_has_a_limit(folder: Path):
    def tries(places):
        from pathlib import Path

        def room_in(place):
            written = 0
            try:
                with open(Path(place, "new"), "wb", buffering=0) as file:
                    while written < 2**30:
                        written += file.write(bytes(2**20))
            except OSError:
                pass
            return written

        return [room_in(place) for place in places]

    beside = sandbox.MEMORY_FILES if folder.is_relative_to("/tmp") else 0  # a checkout may be there
    rooms = dict.fromkeys(["/", "/dev", "/home", "/usr", "/proc"], 0) | {str(folder.parent): beside}
    rooms |= dict.fromkeys(["/tmp", "/dev/shm"], sandbox.MEMORY_FILES)
    assert inside(tries, list(rooms), folder=folder).value == list(rooms.values())


@pytest.mark.skipif(
    platform.machine() not in seccomp.NUMBERS, reason="the number of keyctl(2) is not known here"
)
def test_keys_of_whoever_grades_are_left_behind():
    """In a process of its own, or this one would leave its keys behind too."""
    asks = """
import ctypes, sys
from helpers.classroom import sandbox, seccomp
call, session = ctypes.CDLL(None).syscall, -3
def has(key):
    return call(seccomp.number_of("keyctl"), 10, session, b"user", key, 0) > 0
sandbox.leave_keys()
if call(seccomp.number_of("add_key"), b"user", b"zero-copy", b"secret", 6, session) < 0:
    sys.exit("no keys here")
before = has(b"zero-copy")
sandbox.leave_keys()
print(before, has(b"zero-copy"))
"""
    done = subprocess.run([sys.executable, "-c", asks], capture_output=True, text=True, cwd=ROOT)
    if "no keys here" in done.stderr:
        pytest.skip("this kernel keeps no keys")
    assert done.stdout == "True False\n", done.stderr


@needed
def test_there_is_no_network(folder: Path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        socket.create_connection(("127.0.0.1", port), 5).close()  # from out here it works

        def calls(port):
            import socket

            return [name for _, name in socket.if_nameindex()], socket.create_connection(
                ("127.0.0.1", port), 5
            ).close()

        run = inside(calls, port, folder=folder)
    assert run.ended == "raised"
    assert "refused" in run.error


@needed
def test_what_it_has_started_ends_with_it(folder: Path):
    def leaves(seconds):
        import subprocess

        return subprocess.run(["setsid", "-f", "sleep", str(seconds)]).returncode

    seconds = 3_000 + os.getpid() / 10**7
    assert inside(leaves, seconds, folder=folder).value == 0
    assert str(seconds) not in "".join(
        path.read_text(errors="replace")
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if os.access(path, os.R_OK)
    )


@pytest.mark.measured
@needed
def test_processes_and_threads_are_counted(folder: Path):
    def many(most):
        import threading

        began = 0
        try:
            for _ in range(most):
                threading.Thread(target=time.sleep, args=(5,), daemon=True).start()
                began += 1
        except RuntimeError:
            pass
        return began

    assert (
        100 < inside(many, 2 * sandbox.MAX_PROCESSES, folder=folder).value < sandbox.MAX_PROCESSES
    )


@pytest.mark.measured
@needed
def test_memory_is_that_of_the_function_and_has_its_limit(folder: Path):
    def takes(size, times):
        held = [bytearray(b"1") * size for _ in range(times)]
        time.sleep(0.05)
        return len(held)

    run = inside(takes, 32 * MiB, 2, folder=folder)
    assert run.value == 2
    assert 63 * MiB < run.anonymous.max() < 68 * MiB
    assert (
        inside(takes, 32 * MiB, 100, folder=folder, memory_limit=256 * MiB).ended == "memory limit"
    )


@pytest.mark.measured
@needed
def test_who_fills_the_disk_is_stopped(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sandbox, "MAX_DISK", 64 * MiB)
    monkeypatch.setattr(sandbox, "MAX_FILES", 50)

    def writes(many, size):
        for i in range(many):
            with open(f"{i}.bin", "wb") as file:
                file.write(b"1" * size)
            time.sleep(0.01)

    assert inside(writes, 100, 2 * MiB, folder=folder).ended == "wrote too much"
    for path in folder.iterdir():
        path.unlink()
    assert inside(writes, 200, 1, folder=folder).ended == "wrote too much"


@pytest.mark.measured
@needed
@pytest.mark.parametrize("how", ["a folder that nobody may enter", "a folder that lies too deep"])
def test_who_hides_what_is_written_is_stopped(folder: Path, how: str):
    def hides(how):
        import os

        for _ in range(1 if "enter" in how else 30):
            os.mkdir("a" * 200)
            os.chdir("a" * 200)
        with open("file", "wb") as file:
            file.write(b"1" * 2**20)
        os.chmod(".", 0o000 if "enter" in how else 0o700)
        time.sleep(5)

    assert inside(hides, how, folder=folder).ended == "hid what it wrote"


@pytest.mark.measured
@needed
def test_room_taken_on_the_standard_error_counts_as_printed(folder: Path):
    def takes(size):
        import ctypes

        keeps_its_length = 1
        ctypes.CDLL(None).fallocate64(2, keeps_its_length, ctypes.c_int64(0), ctypes.c_int64(size))
        time.sleep(5)

    assert inside(takes, 128 * MiB, folder=folder).ended == "printed too much"


@needed
@pytest.mark.parametrize("name", ["DISK_LEFT", "MEMORY_TAKEN"])
def test_a_machine_without_room_is_no_slip(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sandbox, name, 2**60 if "LEFT" in name else -(2**40))
    (said,) = verdicts(notebook(exercise("02.report").solution_source), ["02.report"])
    assert (said["outcome"], said["cause"]) == ("not graded", NOT_CHECKED)
    assert "were left" in said["because"]


def test_where_there_can_be_none_it_says_why(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sandbox.os, "geteuid", lambda: 0)
    assert "ordinary user" in sandbox.unavailable_reason()
    monkeypatch.setattr(sandbox.os, "geteuid", lambda: 1000)
    monkeypatch.setenv("PATH", "/nowhere")
    assert "install the package bubblewrap" in sandbox.unavailable_reason()


@needed
def test_the_setting_that_forbids_user_namespaces_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / "bwrap").write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n"
    )
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(sandbox, "SETTINGS", [("kernel.ostype", "Linux", "Plan9")])
    why = sandbox.unavailable_reason()
    assert "No permissions to create new namespace" in why
    assert "as root, `sysctl kernel.ostype=Plan9`" in why
    monkeypatch.setattr(sandbox, "SETTINGS", [])
    assert "procMount" in sandbox.unavailable_reason()


def test_a_link_is_not_counted_as_what_it_leads_to(tmp_path: Path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "file").write_bytes(b"1" * MiB)
    (tmp_path / "link").symlink_to(tmp_path / "inside" / "file")
    (tmp_path / "another").symlink_to(tmp_path / "inside")
    files, size = sandbox._taken(tmp_path)
    assert files == 4
    assert MiB <= size < 2 * MiB
