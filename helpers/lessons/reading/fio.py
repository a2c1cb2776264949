"""fio's random reads beside what came from the device. fio, the flexible I/O tester: https://fio.readthedocs.io."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from ...measure.machine import NotMeasuredHere
from ...measure.recording import Comparison
from ...measure.run import compare

OPTIONS = "--name=reads --rw=randread --bs=4k --norandommap --readonly --output-format=json"
TIMES = 4  # as many bytes are asked for as this many files would have: most blocks more than once


def fio(jobs: Mapping[str, str], path: str | os.PathLike[str]) -> Comparison:
    """Random reads of 4 KiB from a file by several jobs: name -> fio's options, as on its command line.

    Each job asks for TIMES the file's size, most blocks more than once. When it starts, the file is in the page cache.
    `io.device_read_bytes` of a run is what fio took from the device (proc_pid_io(5) counts children once they have
    ended), and `value` is what fio says: its "version", the "bytes" that it asked for, and its reads "per second".
    OSError if there's no such file. NotMeasuredHere without fio, and if a job fails: O_DIRECT may not be known there.
    """
    if not shutil.which("fio"):
        raise NotMeasuredHere("fio is not installed")

    def warm(path: Path) -> None:
        """Brings the file into the page cache, and fio itself."""
        path.read_bytes()
        subprocess.run(["fio", "--version"], check=True, stdout=subprocess.DEVNULL)

    runs = compare({name: partial(_job, options) for name, options in jobs.items()}, Path(path), before=warm)
    for name, run in runs.items():
        if run.ended != "returned":
            reason = (run.error or run.ended).strip().splitlines()[-1]
            raise NotMeasuredHere(f"fio's job {name!r} ended with {reason}")
    return runs


def _job(options: str, path: Path) -> dict[str, str | int]:
    command = ["fio", *OPTIONS.split(), f"--io_size={TIMES * path.stat().st_size}", f"--filename={path}"]
    done = subprocess.run([*command, *options.split()], cwd=path.parent, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError((done.stderr or done.stdout).strip().splitlines()[0])
    report = json.loads(done.stdout[done.stdout.index("{") :])  # a note may come first
    reads = report["jobs"][0]["read"]
    return {"version": report["fio version"], "bytes": reads["io_bytes"], "per second": round(reads["iops"])}
