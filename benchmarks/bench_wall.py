"""The wall under 200 students, beside silent and malformed clients, and killed again and again:
`python benchmarks/bench_wall.py`. Locust makes the students; uv fetches it, so that needs a
network.
"""

import json
import os
import random
import secrets
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path

import psutil

LOCUST = "locust==2.47.0"
GET = [Path(sys.executable).parent / "uv", "tool", "run", "-q", "--from", LOCUST]
STUDENTS, SECONDS, BAD, SILENT, KILLS = 200, 10, 20_000, 500, 20
PEAKS = {"slurp": 256.0, "async chunks": 1.0, "mmap": 0.0}

# this is what Locust reads: a student joins, votes once within SECONDS, and every other one
if "CLASS" in os.environ:
    from locust import HttpUser, constant, task  # looks at a phone's page meanwhile

    class Student(HttpUser):
        wait_time = constant(2)

        def on_start(self) -> None:
            self.voter, self.votes_at = (
                secrets.token_hex(16),
                time.time() + random.uniform(0, SECONDS - 1),
            )
            self.phone, code = random.random() < 0.5, os.environ["CLASS"]
            self.client.put(f"/{code}/voters/{self.voter}", data="{}", name="join")

        @task
        def look(self) -> None:
            if self.phone:
                self.client.get(f"/{os.environ['CLASS']}/state", name="look")
            if self.votes_at and time.time() + 2 > self.votes_at:
                time.sleep(max(0.0, self.votes_at - time.time()))
                self.votes_at, body = 0, json.dumps({"answer": PEAKS, "at": time.time_ns()})
                self.client.put(
                    f"/{os.environ['CLASS']}/votes/{self.voter}/02.three", data=body, name="vote"
                )

else:
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from walls import Class, size_of, voters


def students(room: "Class") -> dict[str, float]:
    """Runs 200 of them. What Locust says of their votes: how many, failures, and seconds to an
    acknowledgement.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *GET,
            "locust",
            "--headless",
            "-f",
            __file__,
            "-H",
            f"http://{room.at}",
            "-u",
            str(STUDENTS),
            "-r",
            str(STUDENTS),
            "-t",
            f"{SECONDS + 4}s",
            "--json-file",
            f"{folder}/all",
        ]
        subprocess.run(
            command, env=os.environ | {"CLASS": room.code}, capture_output=True, timeout=120
        )
        (votes,) = [
            one for one in json.loads(Path(folder, "all.json").read_text()) if one["name"] == "vote"
        ]
    times = sorted(float(ms) for ms, count in votes["response_times"].items() for _ in range(count))
    return {
        "votes": votes["num_requests"],
        "failed": votes["num_failures"],
        "kept": room.state()["answers"],
        "median s": times[len(times) // 2] / 1000,
        "99 of 100 within s": times[int(0.99 * (len(times) - 1))] / 1000,
        "slowest s": times[-1] / 1000,
    }


def asked(folder: str) -> "Class":
    room = Class(Path(folder))
    room.press("ask", question="02.three")
    threading.Timer(SECONDS / 2, room.press, ["revealed"]).start()
    threading.Thread(target=watch, args=[room], daemon=True).start()
    return room


def watch(room: "Class") -> None:
    """The projector's page, once a second."""
    while room.process.poll() is None:
        try:
            room.ask("GET", f"/{room.code}/projector")
        except (OSError, HTTPException):
            return
        time.sleep(1)


def malformed(room: "Class", turn: int) -> int:
    vote, key = (
        f"/{room.code}/votes/{secrets.token_hex(16)}/02.three",
        {"Authorization": "Bearer WRONG"},
    )
    requests = [
        ("PUT", vote, b"x" * 10**6),
        ("PUT", vote, b"[" * 4000),
        ("PUT", vote, b'{"answer": NaN, "at": 1}'),
        ("GET", "/WRONG/state"),
        ("PUT", f"/{room.code}/questions/x", b"{}", key),
        ("DELETE", vote),
        ("GET", f"/{room.code}/{'x' * 100_000}"),
        ("POST", "/teacher", b"key=guess"),
    ]
    method, path, *rest = requests[turn % len(requests)]
    try:
        return room.ask(method, path, *rest[:1], **(rest[1] if rest[1:] else {}))[0]
    except (OSError, HTTPException):
        return 0  # cut off while it still sent


def crowded(folder: str) -> None:
    room = asked(folder)
    process = psutil.Process(room.process.pid)
    silent = [socket.create_connection(("127.0.0.1", room.port)) for _ in range(SILENT)]
    room.ask("GET", f"/{room.code}/projector")
    before, on_disk = process.memory_info().rss >> 20, size_of(room.folder) >> 10
    with ThreadPoolExecutor(4) as pool:
        sent = [pool.submit(malformed, room, turn) for turn in range(BAD)]
        print("beside them:", students(room))
        counted = Counter(one.result() for one in sent)
    after, then = process.memory_info().rss >> 20, size_of(room.folder) >> 10
    print(
        f"{BAD} malformed, {len(silent)} silent: {dict(sorted(counted.items()))} (0: cut off while "
        "sending)"
    )
    print(f"memory {before} -> {after} MiB, disk {on_disk} -> {then} KiB")
    room.kill()


def killed(folder: str) -> None:
    room, acknowledged = Class(Path(folder)), set()
    room.press("ask", question="02.three")

    def vote(voter: str) -> None:
        try:
            if room.vote(voter, PEAKS) == 200:
                acknowledged.add(voter)
        except (OSError, HTTPException):
            pass

    for _ in range(KILLS):
        with ThreadPoolExecutor(4) as pool:
            done = pool.map(vote, voters(40))
            time.sleep(random.uniform(0, 0.15))
            room.kill()
            list(done)
        room.start()
    room.kill()
    with sqlite3.connect(room.folder / "wall" / "wall.sqlite") as kept:
        stored = {voter for (voter,) in kept.execute("select voter from votes")}
    print(
        f"killed {KILLS} times: {len(acknowledged)} acknowledged, {len(acknowledged - stored)} of "
        "them lost"
    )


def alone(folder: str) -> None:
    room = asked(folder)
    print(f"{STUDENTS} students in {SECONDS} s:", students(room))
    room.kill()


def main() -> None:
    if subprocess.run([*GET, "locust", "--version"]).returncode:
        return print(f"uv can't get {LOCUST}: left out")
    for what in (alone, crowded, killed):
        with tempfile.TemporaryDirectory() as folder:
            what(folder)


if __name__ == "__main__":
    main()
