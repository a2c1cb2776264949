"""`serve(folder)`: the server, for as long as a `with` lasts. It ends with its caller, even with a killed caller."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..folders import ROOT


@dataclass(frozen=True)
class Running:
    """A server that runs: its address, "127.0.0.1:port", and the number of the process that watches the workers."""

    address: str
    pid: int


@contextmanager
def serve(
    folder: str | os.PathLike[str],
    workers: int = 4,
    port: int = 0,
    memory: int | str | None = None,
    command: Sequence[str] = (),
) -> Iterator[Running]:
    """Serves the models in `folder`. port 0: any that is free. `memory`: how much a worker may take of its own beyond
    what it has when it starts, in bytes or as "64 MiB"; Linux. `command` starts it, and must become it (exec).

    OSError if it doesn't start: no such folder, or a port in use. NotMeasuredHere on Windows, which can't fork.
    """
    if not hasattr(os, "fork"):
        from ..measure import NotMeasuredHere

        raise NotMeasuredHere("the server forks its workers, which Windows can't: use Linux, macOS or WSL")
    arguments = [str(Path(folder)), "--workers", str(workers), "--port", str(port), "--until-stdin-ends"]
    if memory is not None:
        arguments += ["--memory", str(memory)]
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    with subprocess.Popen(
        [*command, sys.executable, "-m", "helpers.serve", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for the caller, who ends the server
        env=os.environ | {"PYTHONPATH": path},
    ) as process:
        try:
            if not (port := process.stdout.readline()):
                raise OSError(f"the server for {folder} did not start: it says why on standard error")
            yield Running(f"127.0.0.1:{int(port)}", process.pid)
        finally:
            process.stdin.close()  # that ends it; leaving this block waits for it
