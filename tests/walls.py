"""A class's wall that runs in a process of its own."""

import json
import logging
import multiprocessing
import os
import re
import resource
import secrets
import socket
import sys
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from helpers.wall import server

FORK = multiprocessing.get_context("fork")


def voters(count: int) -> list[str]:
    return [secrets.token_hex(16) for _ in range(count)]


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*"))


class Class:
    """A wall that runs, and what one says to it."""

    def __init__(
        self,
        folder: Path,
        *options: str,
        files: tuple[int, int] | None = None,
        stderr: int | None = None,
    ) -> None:
        """`files`: how many it may have open, and at most allow itself."""
        self.folder, self.options, self.files, self.stderr = folder, options, files, stderr
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.start()

    @staticmethod
    def command(port: int, folder: Path, *options: str) -> list[str]:
        start = [
            sys.executable,
            "-m",
            "helpers.wall.server",
            "--port",
            str(port),
            "--out",
            str(folder),
        ]
        return [*start, *options]

    def start(self) -> None:
        """As a copy of this process: an interpreter of its own would import for a second or two."""
        reader, writer = os.pipe()
        self.process = FORK.Process(target=self.serve, args=(writer,))
        self.process.start()
        os.close(writer)
        self.printed = os.fdopen(reader)
        said = ""
        while "join(" not in said:
            said += (line := self.printed.readline())
            assert line, f"no wall: {said}"
        self.code, self.key = re.search(r'/(\w+)"\)', said)[1], re.search(r"key (\S+)", said)[1]
        self.at = f"127.0.0.1:{self.port}"
        self.address = f"http://127.0.0.1:{self.port}/{self.code}"

    def kill(self) -> None:
        self.process.kill()
        self.process.join()
        self.printed.close()

    def serve(self, output: int) -> None:
        """In the copy: nothing of the tests' stays open, and none takes what it logs."""
        os.dup2(output, 1)
        os.dup2(2 if self.stderr is None else self.stderr, 2)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        if self.files:
            resource.setrlimit(resource.RLIMIT_NOFILE, self.files)
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
        logging.getLogger().handlers.clear()
        sys.argv = self.command(self.port, self.folder, *self.options)[2:]
        server.main()

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, str]:
        line = HTTPConnection(self.at, timeout=10)
        try:
            line.request(method, path, body, headers)
            answer = line.getresponse()
            return answer.status, answer.read().decode()
        finally:
            line.close()

    def vote(self, voter: str, answer: Any, key: str = "02.three") -> int:
        body = json.dumps({"answer": answer, "at": time.time_ns()})
        return self.ask("PUT", f"/{self.code}/votes/{voter}/{key}", body)[0]

    def press(self, what: str, **more: str) -> int:
        form = {"do": what, "of": self.of()} | more
        return self.ask("POST", "/teacher", urlencode(form), Cookie=f"teacher={self.key}")[0]

    def of(self) -> str:
        """What the teacher's page is about."""
        return re.search(
            'name="of" value="(.*?)"', self.ask("GET", "/teacher", Cookie=f"teacher={self.key}")[1]
        )[1]

    def state(self) -> dict:
        return json.loads(self.ask("GET", f"/{self.code}/state")[1])


def limit_files(room: Class, size: int) -> None:
    """As on a full disk: no file of the wall grows beyond this."""
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.prlimit(room.process.pid, resource.RLIMIT_FSIZE, (size, hard))
