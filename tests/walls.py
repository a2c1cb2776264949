"""A class's wall that runs in a process of its own."""

import json
import re
import resource
import secrets
import signal
import socket
import subprocess
import sys
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode


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
        command = self.command(self.port, self.folder, *self.options)
        if self.files:
            command = ["prlimit", f"--nofile={self.files[0]}:{self.files[1]}", *command]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self.stderr, text=True
        )
        said = ""
        while "join(" not in said:
            said += (line := self.process.stdout.readline())
            assert line, f"no wall: {said}"
        self.code, self.key = re.search(r'/(\w+)"\)', said)[1], re.search(r"key (\S+)", said)[1]
        self.at = f"127.0.0.1:{self.port}"
        self.address = f"http://127.0.0.1:{self.port}/{self.code}"

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()

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
