import mmap
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.measure import NotMeasuredHere, drop_from_cache
from helpers.measure import environment as memory_limit
from helpers.measure.environment import in_memory_limit, killed, memory_left
from helpers.units import MiB

LIMIT = 48 * MiB
FILE = 4 * LIMIT


def own(length: int) -> int:
    block = bytearray(length)
    for page in range(0, length, mmap.PAGESIZE):
        block[page] = 1
    return len(block)


def read_through(path: Path) -> int:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
        return sum(mapping[:: mmap.PAGESIZE])


def groups() -> set[str]:
    """This process's groups, in every place where one could be made."""
    texts = (Path(f"/proc/self/{name}").read_text() for name in ("cgroup", "mountinfo"))
    return {
        str(one)
        for parent, _ in memory_limit._places(*texts)
        for one in parent.glob(f"zero-copy-{os.getpid()}-*")
    }


@pytest.fixture
def path(file: Path) -> Iterator[Path]:
    """A file on the disk, 4 times the limit, none of it in memory: a page counts for the group that
    brings it in.
    """
    path = file.with_name("limited.bin")
    with path.open("wb") as out:
        for _ in range(FILE // MiB):
            out.write(b"\1" * MiB)
        out.flush()
        os.fsync(out.fileno())
    drop_from_cache(path)
    yield path
    path.unlink()


@pytest.mark.needs(tool="root")
class TestLimited:
    @pytest.mark.measured
    def test_anonymous_memory_past_the_limit_is_killed(self) -> None:
        run = in_memory_limit(own, FILE, limit=LIMIT)
        assert run.ended == "SIGKILL"
        assert run.peak.anonymous < LIMIT
        assert groups() == set()

    @pytest.mark.measured
    def test_a_mapping_of_four_times_the_limit_is_read_through(self, path: Path) -> None:
        run = in_memory_limit(read_through, path, limit=LIMIT)
        assert (run.ended, run.value) == ("returned", FILE // mmap.PAGESIZE)
        assert run.peak.anonymous < LIMIT / 4
        assert run.peak.file < LIMIT
        assert groups() == set()

    def test_the_least_limit_is_enough_for_the_interpreter(self) -> None:
        assert in_memory_limit(own, MiB, limit=memory_limit.LEAST).ended == "returned"

    def test_what_a_killed_one_left_is_removed_by_the_next_and_that_of_a_running_one_is_not(
        self,
    ) -> None:
        texts = (Path(f"/proc/self/{name}").read_text() for name in ("cgroup", "mountinfo"))
        parents = [
            parent for parent, _ in memory_limit._places(*texts) if os.access(parent, os.W_OK)
        ]
        if not parents:
            pytest.skip("groups are made by systemd here")
        (ended := subprocess.Popen([sys.executable, "-c", ""])).wait()
        left, used = (
            parents[0] / memory_limit.GROUP.format(pid, "0") for pid in (ended.pid, os.getppid())
        )
        left.mkdir()
        used.mkdir()
        try:
            in_memory_limit(own, MiB, limit=LIMIT)
            assert used.exists()
            assert not left.exists()
        finally:
            used.rmdir()


def test_where_it_cannot_be_measured_it_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_limit, "_places", lambda *_: iter([(Path("/proc"), ("a", "b"))]))
    monkeypatch.setattr(memory_limit.shutil, "which", lambda _: None)
    with pytest.raises(
        NotMeasuredHere, match=r"(?s)that takes root, .*systemd\n/proc: .*; there is no systemd-run"
    ) as no:
        in_memory_limit(own, 1)
    assert "\n" not in str(no.value), "the reasons are its note"


def test_where_a_group_could_be_made(tmp_path: Path) -> None:
    """Version 1: below our own group. Version 2: from our own group up to the mount, wherever
    "memory" is passed on.
    """
    one = "30 29 0:26 {root} {point} rw shared:1 - cgroup cgroup rw,memory\n"
    text = "4:cpu:/x\n3:memory:/docker/abc\n0::/\n"
    files = ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes")
    whole = memory_limit._places(text, one.format(root="/", point=tmp_path))
    assert list(whole) == [(tmp_path / "docker/abc", files)]
    part = memory_limit._places(text, one.format(root="/docker/abc", point=tmp_path))
    other = "3:memory:/lxc/another/container\n"
    elsewhere = memory_limit._places(other, one.format(root="/docker/abc", point=tmp_path))
    assert list(part) == list(elsewhere) == [(tmp_path, files)]

    (session := tmp_path / "user.slice/app.slice/terminal.scope").mkdir(parents=True)
    for folder, hands_on in (
        (session, ""),
        (session.parent, "cpu memory"),
        (tmp_path / "user.slice", "memory"),
    ):
        (folder / "cgroup.subtree_control").write_text(hands_on)
    (tmp_path.parent / "cgroup.subtree_control").write_text("memory")
    mounts = f"31 23 0:27 / {tmp_path} rw - cgroup2 cgroup2 rw\n"
    found = memory_limit._places("0::/user.slice/app.slice/terminal.scope\n", mounts)
    assert [parent for parent, _ in found] == [session.parent, tmp_path / "user.slice"]


@pytest.mark.needs(tool="root")
def test_what_is_left_of_a_limit_is_told_from_within(tmp_path):
    def left(path):
        path.write_bytes(bytes(64 * MiB))  # pages of a file, which the kernel can take back
        empty = memory_left()
        block = bytearray(64 * MiB)
        return empty, memory_left(), len(block)

    (empty, limit), (full, _), _ = in_memory_limit(left, tmp_path / "file", limit="256 MiB").value
    assert limit == 256 * MiB
    assert empty > 180 * MiB
    assert 60 * MiB < empty - full < 70 * MiB
    assert memory_left() is None or memory_left()[1] != limit


@pytest.mark.needs(tool="root")
@pytest.mark.measured  # of a parent and its child, the kernel may kill both
def test_what_the_kernel_killed_at_a_limit_is_counted():
    def killed_one():
        before = killed()
        child = os.fork()
        if not child:
            os._exit(len(bytearray(256 * MiB).replace(b"\0", b"1")) == 0)
        _, status = os.waitpid(child, 0)
        return os.WTERMSIG(status), killed() - before

    assert in_memory_limit(killed_one, limit="128 MiB").value == (signal.SIGKILL, 1)


@pytest.mark.parametrize(
    ("limit", "says"), [("39 MiB", r"39 MiB .* 40 MiB or more"), (2**60, "this machine's memory")]
)
def test_a_limit_below_the_interpreter_or_above_the_machine_is_refused(
    limit: int | str, says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        in_memory_limit(own, 1, limit=limit)
