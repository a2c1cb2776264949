"""A server for a model that changes while it's served. Read it in this order:

validation  what a request may say, and how one that says anything else is refused
uploads     PUT: a file arrives in parts, is checked, and takes the old file's place at once
digits      the model: a recogniser of digits, from mapped, copied or halved weights; POST:
            pictures, a tenant's weights
versions    which version a request gets, how it's opened, and when the old one is unmapped
wire        GET: how the kernel copies the file to the socket
app         what is served where; and what each worker has in memory
supervisor  the process that forks the workers, and replaces one that dies; a worker, and its memory
            budget
serve()     starts them all and ends them

client      asks: once, or, in a process of its own, again and again

It's a lesson's server, on 127.0.0.1. It promises that a model is published whole or not at all,
that each answer comes from the version that it names, and that a client that is slow, silent or
gone costs the others little. It doesn't promise that

- there is a descriptor for everybody: more clients than `ulimit -n` fill its standard error with
  messages;
- eight clients that have a large file hashed at once (HEAD with Repr-Digest) keep nobody waiting;
- it notices a worker that was stopped (SIGSTOP), or answers a client that has closed its half of
  the connection;
- what others put into its folder gets a fitting status: a pipe there can take a thread for ever;
- a worker whose memory ran out again and again gets all of it back;
- the disk has room for uploads that nobody finishes: the next upload removes those of more than a
  day ago.

>>> with serve("models", workers=4, memory="64 MiB") as server:
...     print(server.address)
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ..folders import ROOT  # nothing here imports numpy: `__main__` says what that would break


class Running(NamedTuple):
    address: str  # 127.0.0.1:port
    pid: int  # of the process that watches the workers


@contextmanager
def serve(
    folder: str | os.PathLike[str],
    workers: int = 4,
    memory: int | str | None = None,
    command: Sequence[str] = (),
) -> Iterator[Running]:
    """Serves the models in `folder`, at any port that is free, and ends with its caller, even a
    killed one. `memory`: how much a worker may take of its own beyond what it has when it starts,
    in bytes or as "64 MiB"; Linux. `command` starts it, and must become it (exec). OSError if it
    doesn't start: no such folder. NotMeasuredHere on Windows, which can't fork.
    """
    if not hasattr(os, "fork"):
        from ..measure import NotMeasuredHere

        raise NotMeasuredHere(
            "the server forks its workers, which Windows can't: use Linux, macOS or WSL"
        )
    arguments = [str(Path(folder)), "--workers", str(workers), "--port", "0", "--until-stdin-ends"]
    arguments += [] if memory is None else ["--memory", str(memory)]
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
                raise OSError(
                    f"the server for {folder} did not start: it says why on standard error"
                )
            yield Running(f"127.0.0.1:{int(port)}", process.pid)
        finally:
            process.stdin.close()  # that ends it; leaving this block waits for it
