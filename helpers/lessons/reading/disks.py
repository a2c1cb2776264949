"""fio (https://fio.readthedocs.io) beside what came from the device; disks that differ in their
read-ahead.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from ...measure import Comparison, NotMeasuredHere, compare
from ...measure.environment import measured_in
from ...units import KiB, in_words
from ...units import size as in_bytes

OPTIONS = "--name=reads --rw=randread --bs=4k --norandommap --readonly --output-format=json"
TIMES = 4  # as many bytes are asked for as this many files would have: most blocks more than once
# $0: a folder to mount the disk in; $1: the disk's image; $2: read-ahead in KiB. Then the command.
MOUNT = """
mount -o loop "$1" "$0" &&
echo "$2" > /sys/dev/block/$(mountpoint -d "$0")/queue/read_ahead_kb && shift 2 && exec "$@"
"""


def fio(jobs: Mapping[str, str], path: str | os.PathLike[str]) -> Comparison:
    """Random reads of 4 KiB from a file by several jobs: name -> fio's options. Each asks for TIMES
    the file's size, most blocks more than once, and begins with the file in the page cache.
    `io.device_read_bytes` of a run is what fio took from the device (proc_pid_io(5) counts children
    once they have ended), and `value` is what fio says: its "version", the "bytes" that it asked
    for, and its reads "per second". OSError if there's no such file. NotMeasuredHere without fio,
    and if a job fails: O_DIRECT may not be known there.
    """
    if not shutil.which("fio"):
        raise NotMeasuredHere("fio is not installed")

    def warm(path: Path) -> None:
        path.read_bytes()
        subprocess.run(["fio", "--version"], check=True, stdout=subprocess.DEVNULL)

    runs = compare(
        {name: partial(_job, options) for name, options in jobs.items()}, Path(path), before=warm
    )
    for name, run in runs.items():
        if run.ended != "returned":
            reason = (run.error or run.ended).strip().splitlines()[-1]
            raise NotMeasuredHere(f"fio's job {name!r} ended with {reason}")
    return runs


def _job(options: str, path: Path) -> dict[str, str | int]:
    what = [f"--io_size={TIMES * path.stat().st_size}", f"--filename={path}", *options.split()]
    done = subprocess.run(
        ["fio", *OPTIONS.split(), *what], cwd=path.parent, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError((done.stderr or done.stdout).strip().splitlines()[0])
    report = json.loads(done.stdout[done.stdout.index("{") :])  # a note may come first
    reads = report["jobs"][0]["read"]
    return {
        "version": report["fio version"],
        "bytes": reads["io_bytes"],
        "per second": round(reads["iops"]),
    }


def by_read_ahead(
    function: Callable, path: str | os.PathLike[str], sizes: Sequence[int | str]
) -> Comparison:
    """`measure(function, copy)` for each read-ahead, in bytes or as "128 KiB". `copy` is the file,
    cold, on an ext4 file system in a file, losetup(8), that only the measured process sees, and
    that goes when it ends. Only root can mount it and set its read-ahead. ValueError for a part of
    a KiB, OSError if there's no room. NotMeasuredHere for other users, and where there are no such
    disks: not Linux, or a container forbids them.
    """
    windows = {in_words(in_bytes(size), "bytes"): in_bytes(size) for size in sizes}
    if odd := [size for size in windows.values() if size % KiB]:
        raise ValueError(f"a read-ahead of {odd[0]} bytes; the kernel takes whole KiB")
    if sys.platform != "linux" or os.geteuid() != 0 or not shutil.which("mkfs.ext4"):
        raise NotMeasuredHere(
            "only root on Linux, with mkfs.ext4, makes disks with another read-ahead"
        )
    with tempfile.TemporaryDirectory(prefix="read-ahead-", dir=Path(path).parent) as folder:
        image, source, disk = (Path(folder) / name for name in ("image", "source", "disk"))
        source.mkdir()
        disk.mkdir()
        shutil.copyfile(path, source / "copy")
        room = Path(path).stat().st_size * 5 // 4 // KiB + 16 * KiB
        mkfs = subprocess.run(
            ["mkfs.ext4", "-q", "-d", source, image, f"{room}k"], capture_output=True, text=True
        )
        if mkfs.returncode:
            raise OSError(f"mkfs.ext4 made no disk of {room:,} KiB: {mkfs.stderr.strip()}")
        runs = {}
        for words, size in windows.items():
            command = (
                "unshare",
                "--mount",
                "sh",
                "-c",
                MOUNT,
                str(disk),
                str(image),
                str(size // KiB),
            )
            label = {
                "name": "disk with another read-ahead",
                "file_system": "ext4",
                "read_ahead": size,
            }
            runs[words] = [measured_in(command, function, disk / "copy", **label)]
    return Comparison(runs)
