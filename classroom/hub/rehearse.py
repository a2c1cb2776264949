"""A class on this machine, rehearsed, as root: `make rehearse STUDENTS=20`.

It installs the hub in a folder of its own beside the real one, makes Unix users, and lets them all do at once what
students do, through the hub's own pages: log in, start a server, vote on the class's wall, run lessons 01 and 02, check
an exercise, hand in.
Then one of them tries what's in tries.toml, and what was handed in is collected and graded. The users go at the end,
and what a killed rehearsal left goes at the next start. The exit code says whether all claims, verdicts and tries came
out as they must.
"""

import argparse
import asyncio
import csv
import grp
import itertools
import json
import os
import pwd
import re
import secrets
import shutil
import socket
import statistics
import subprocess
import sys
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import matplotlib.pyplot as plt
import psutil
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

from helpers.folders import BUILD, ROOT, lessons
from helpers.teach import exercise
from helpers.units import GiB, MiB

HERE = Path(__file__).resolve().parent
INSTALLED = Path("/srv/zero-copy-rehearsal")
GROUP = "zero-copy-rehearsal"
LESSONS = ("01", "02")
ASKED = exercise("02.chunks")
WRONG = next(answer for answer in ASKED.wrong if answer.name == "tail_forgotten")
VOTE = """
from helpers.teach import predict
guess = predict("02.order", "?", order=["one buffer", "async chunks", "sendfile"])
guess.keep(["sendfile", "one buffer", "async chunks"])
print(guess.status)
"""
TRIES = tomllib.loads((HERE / "tries.toml").read_text(encoding="utf-8"))
REFUSED = ("PermissionError", "HTTPError", "CalledProcessError", "FileNotFoundError", "MemoryError", "BlockingIOError")
OWNER = pwd.getpwuid(ROOT.stat().st_uid)  # whose the clone is: that user makes the edition, and grades

AS_OWNER = {
    "user": OWNER.pw_uid, "group": OWNER.pw_gid, "extra_groups": [], "cwd": ROOT,
    "env": os.environ | {"HOME": OWNER.pw_dir, "USER": OWNER.pw_name, "LOGNAME": OWNER.pw_name},
}  # fmt: skip


# --- the machine: users, and the hub ---------------------------------------------------------------------------
def clear() -> None:
    """Ends all processes of a rehearsal, and removes its users with what they wrote."""
    for process in psutil.process_iter(["cmdline"]):
        if str(INSTALLED / "course") in " ".join(process.info["cmdline"] or ()):
            process.kill()
    try:
        names = grp.getgrnam(GROUP).gr_mem
    except KeyError:
        return
    for name in names:
        subprocess.run(["pkill", "-KILL", "-U", name])
        subprocess.run(["userdel", "--remove", "--force", name], check=True, capture_output=True)
    subprocess.run(["groupdel", GROUP], check=True)
    Path("/tmp/zero-copy-rehearsal").unlink(missing_ok=True)


@contextmanager
def users(count: int) -> Iterator[dict[pwd.struct_passwd, str]]:
    """This many Unix users, and the password of each."""
    clear()
    try:
        subprocess.run(["groupadd", GROUP], check=True)
        made = {f"rehearsal{n:02}": secrets.token_urlsafe() for n in range(1, count + 1)}
        for name in made:
            new = ["useradd", "--create-home", "--key", "HOME_MODE=0700", "--groups", GROUP, name]
            subprocess.run(new, check=True)
        lines = "".join(f"{name}:{password}\n" for name, password in made.items())
        subprocess.run(["chpasswd"], input=lines, text=True, check=True)
        yield {pwd.getpwnam(name): password for name, password in made.items()}
    finally:
        clear()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


def as_owner(*command: str | Path) -> str:
    """Runs this in the clone as the user whose it is: nothing there becomes root's."""
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, check=True, **AS_OWNER).stdout


@contextmanager
def hub() -> Iterator[dict[str, str]]:
    """The real hub, from the real script, on ports of its own: its address and its proxy's."""
    as_owner("make", "class")
    subprocess.run([HERE / "install", BUILD / "class" / "zero-copy-measured.zip", INSTALLED], check=True)
    at = {name: f"http://127.0.0.1:{free_port()}" for name in ("HUB", "PROXY", "inner")}
    command = [INSTALLED / "course/.venv/bin/jupyterhub", "-f", INSTALLED / "hub/jupyterhub_config.py",
               f"--JupyterHub.bind_url={at['HUB']}", f"--JupyterHub.hub_bind_url={at['inner']}",
               f"--ConfigurableHTTPProxy.api_url={at['PROXY']}",
               f"--LocalAuthenticator.allowed_groups={GROUP}"]  # fmt: skip
    (INSTALLED / "hub/hub.sqlite").unlink(missing_ok=True)
    with (INSTALLED / "hub/log").open("w") as log:
        process = subprocess.Popen(command, cwd=INSTALLED / "hub", stdout=log, stderr=log, umask=0o077)
    try:
        for _ in range(600):
            try:
                httpx.get(f"{at['HUB']}/hub/api/").raise_for_status()
                break
            except httpx.HTTPError:
                time.sleep(0.1)
        yield at
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def wall(at: dict[str, str]) -> Iterator[None]:
    """The class's wall, started by the owner of the clone. The hub has its page."""
    public, code = f"{at['HUB']}/services/wall", (INSTALLED / "class-code").read_text().strip()
    out = BUILD / "rehearsal"
    at["wall"] = f"{public}/{code}/state"
    command = [sys.executable, "-B", "-m", "helpers.classroom.wall", "--behind", public, "--code", code, "--out", out]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, **AS_OWNER)
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)
        shutil.rmtree(out, ignore_errors=True)


# --- a student --------------------------------------------------------------------------------------------------
@dataclass
class Student:
    user: pwd.struct_passwd
    password: str
    hub: str
    right: bool  # does this one hand in a right answer?
    seconds: dict[str, float] = field(default_factory=dict)
    claims: Counter = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)  # what didn't come out as it must

    def __post_init__(self) -> None:
        self.name, self.own = self.user.pw_name, f"/user/{self.user.pw_name}"
        self.deserves = "right" if self.right else "not yet"
        self.web = httpx.AsyncClient(base_url=self.hub, follow_redirects=True, timeout=300)

    async def log_in(self) -> None:
        """As a browser does: the form, then the page on which one waits for the server."""
        began = time.monotonic()
        await self.web.get("/hub/login")
        form = {"username": self.name, "password": self.password, "_xsrf": self._cookies("/hub/")["_xsrf"]}
        (await self.web.post("/hub/login?next=%2Fhub%2Fspawn", data=form)).raise_for_status()
        while True:
            page = await self.web.get(f"{self.own}/lab")
            if page.is_success and page.url.path.startswith(f"{self.own}/lab"):
                break
            await asyncio.sleep(0.5)
        self.seconds["server"] = time.monotonic() - began
        await self.opened("00_start_here.ipynb")
        await self.run("1 + 1")
        self.seconds["kernel"] = time.monotonic() - began
        await self.closed()

    def _cookies(self, path: str) -> dict[str, str]:
        nearest_last = sorted(self.web.cookies.jar, key=lambda one: len(one.path))
        return {one.name: one.value for one in nearest_last if path.startswith(one.path)}

    async def api(self, method: str, at: str, content: Any = None) -> Any:
        headers = {"X-XSRFToken": self._cookies(f"{self.own}/")["_xsrf"]}
        answer = await self.web.request(method, f"{self.own}/api/{at}", json=content, headers=headers)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    async def opened(self, notebook: str) -> None:
        wanted = {"path": notebook, "name": notebook, "type": "notebook", "kernel": {"name": "python3"}}
        self.session = await self.api("POST", "sessions", wanted)
        kernel = self.session["kernel"]["id"]
        address = f"ws{self.hub.removeprefix('http')}{self.own}/api/kernels/{kernel}/channels"
        cookies = self._cookies(f"{self.own}/")
        headers = {"Cookie": "; ".join(map("=".join, cookies.items())), "X-XSRFToken": cookies["_xsrf"]}
        self.socket = await websocket_connect(HTTPRequest(address, headers=headers), max_message_size=200 * MiB)

    async def closed(self) -> None:
        self.socket.close()
        await self.api("DELETE", f"sessions/{self.session['id']}")

    async def run(self, code: str) -> tuple[str, str]:
        """What a cell showed, as one text, and its error."""
        header = {"msg_id": secrets.token_hex(), "msg_type": "execute_request", "session": "rehearsal",
                  "username": self.name, "version": "5.3", "date": ""}  # fmt: skip
        content = {"code": code, "silent": False, "store_history": True, "allow_stdin": False, "stop_on_error": False}
        message = {"channel": "shell", "header": header, "parent_header": {}, "metadata": {}, "content": content}
        await self.socket.write_message(json.dumps(message))
        shown, error = "", ""
        while (text := await self.socket.read_message()) is not None:
            told = json.loads(text)
            content = told["content"]
            if content.get("execution_state") in ("restarting", "dead"):
                return shown, "MemoryError: the kernel was killed"
            if told["parent_header"].get("msg_id") != header["msg_id"]:
                continue
            shown += content.get("text", "") + content.get("data", {}).get("text/html", "")
            if told["msg_type"] == "error":
                error = f"{content['ename']}: {content['evalue']}"
            if told["msg_type"] == "status" and content["execution_state"] == "idle":
                return shown, error
        return shown, "the kernel's connection ended"

    async def lesson(self, number: str) -> None:
        path = next(one.name for one in lessons() if one.name.startswith(number))
        notebook = (await self.api("GET", f"contents/{path}?content=1"))["content"]
        for cell in notebook["cells"]:
            if f'exercise("{ASKED.key}").check(' in cell["source"]:
                answer = ASKED.solution_source if self.right else WRONG.body
                cell["source"] = f'{answer}\n\n\nexercise("{ASKED.key}").check({ASKED.name})'
        await self.api("PUT", f"contents/{path}", {"type": "notebook", "format": "json", "content": notebook})
        began = time.monotonic()
        await self.opened(path)
        if number == ASKED.key[:2]:
            shown, error = await self.run(VOTE)
            if "on the wall, without your name" not in shown:
                self.wrong.append(f"the wall: {shown}{error}")
        for cell in notebook["cells"]:
            if cell["cell_type"] != "code":
                continue
            shown, error = await self.run(cell["source"])
            for verdict, told in re.findall(r'class="zc-claim" data-verdict="([^"]+)">(.*?)</dl>', shown, re.DOTALL):
                self.claims[verdict] += 1
                if verdict == "differs":
                    self.wrong.append(f"{number}: {' '.join(re.sub('<[^>]+>', ' ', told).split())}")
            if error and "raises-exception" not in cell["metadata"].get("tags", ()):
                self.wrong.append(f"{number}, {cell['id']}: {error}")
            if f'exercise("{ASKED.key}").check' in cell["source"]:
                judged = re.findall(r'data-outcome="([^"]+)"', shown)
                if judged != [self.deserves]:
                    self.wrong.append(f"{ASKED.key}: judged {judged}, not {self.deserves}")
        self.seconds[number] = time.monotonic() - began
        if number == ASKED.key[:2]:
            _, error = await self.run(f'from helpers.teach import hand_in\nprint(hand_in("{number}"))')
            self.wrong += [f"hand_in: {error}"] if error else []
        await self.closed()

    async def tries(self, about: dict[str, str], other: pwd.struct_passwd) -> dict[str, str]:
        """What each try got: "" if it was refused."""
        await self.opened("00_start_here.ipynb")
        constants = "".join(f"{name} = {value!r}\n" for name, value in about.items())
        _, error = await self.run(f"{TRIES['before']}{constants}OTHER = pwd.getpwnam({other.pw_name!r})")
        assert not error, error
        found = {}
        for name, one in TRIES["try"].items():
            shown, error = await self.run(one["code"])
            found[name] = shown.partition("got:")[2].strip() or (error if not error.startswith(REFUSED) else "")
        self.socket.close()
        return found


# --- what it costs, and how it ends -----------------------------------------------------------------------------
class Memory(threading.Thread):
    """PSS of each of these users, in bytes, once a second: `rows` of seconds and {uid: bytes}."""

    def __init__(self, uids: list[int]) -> None:
        super().__init__(daemon=True)
        self.uids, self.began, self.rows, self.phases = uids, time.monotonic(), [], {}

    def phase(self, name: str) -> None:
        print(f"{time.monotonic() - self.began:5.0f} s  {name}", flush=True)
        self.phases[name] = time.monotonic() - self.began

    def until(self, phase: str) -> list[dict[int, int]]:
        return [row for at, row in self.rows if at < self.phases[phase]]

    def run(self) -> None:
        while True:
            time.sleep(1)
            taken = dict.fromkeys(self.uids, 0)
            for pid in psutil.pids():
                try:
                    if (uid := os.stat(f"/proc/{pid}").st_uid) in taken:
                        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
                        taken[uid] += int(re.search(r"^Pss:\s+(\d+)", rollup, re.M)[1]) << 10
                except (OSError, TypeError):
                    pass  # it has ended
            self.rows.append((time.monotonic() - self.began, taken))


def used(folder: Path) -> int:
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))


async def class_of(students: list[Student], at: dict[str, str], memory: Memory) -> dict[str, str]:
    """All that the students do, each phase together. Returns what the first one's tries got."""
    memory.phase("log in")
    await asyncio.gather(*(student.log_in() for student in students))
    for number in LESSONS:
        memory.phase(f"lesson {number}")
        await asyncio.gather(*(student.lesson(number) for student in students))
    voters = httpx.get(at["wall"]).json()["joined"]
    if voters != len(students):
        students[0].wrong.append(f"the wall has {voters} voters, not {len(students)}")
    memory.phase("idle")
    await asyncio.sleep(10)
    memory.phase("tries")
    about = at | {"COURSE": str(INSTALLED / "course")}
    return await students[0].tries(about, students[1].user)


def graded(students: list[Student], report: Path) -> None:
    """Collects, grades and gives back, and adds to each student's `wrong` what didn't come out as it must."""
    collected, grades = report / "collected", report / "grades"
    subprocess.run([sys.executable, INSTALLED / "hub/collect.py", collected, "--group", GROUP], check=True)
    for student in students:
        own = [f"02_{student.name}.zip"]
        if (there := os.listdir(collected / student.name)) != own:
            student.wrong.append(f"collected: {there}, not {own}")
    for path in (report, collected, *collected.rglob("*")):
        os.chown(path, OWNER.pw_uid, OWNER.pw_gid)
    as_owner(sys.executable, "-B", "-m", "helpers.classroom.grade", collected, "--out", grades)
    with (grades / "gradebook.csv").open(encoding="utf-8-sig") as file:
        outcomes = {row["student"]: row["outcome"] for row in csv.DictReader(file) if row["exercise"] == ASKED.key}
    subprocess.run([sys.executable, INSTALLED / "hub/collect.py", grades, "--give-back", "--group", GROUP], check=True)
    for student in students:
        if outcomes[student.name] != student.deserves:
            student.wrong.append(f"graded: {outcomes[student.name]}, not {student.deserves}")
        if not Path(student.user.pw_dir, "my_lessons/feedback/grades.html").is_file():
            student.wrong.append("no feedback")


def spread(numbers: Sequence[float]) -> dict[str, float]:
    return {"median": round(statistics.median(numbers), 1), "worst": round(max(numbers), 1)}


def told(students: list[Student], got: dict[str, str], memory: Memory) -> dict[str, Any]:
    """What the rehearsal found."""
    tries = TRIES["try"]
    seconds = {name: spread([student.seconds[name] for student in students]) for name in students[0].seconds}
    rows = memory.until("tries")
    return {
        "machine": f"{os.cpu_count()} cores, {psutil.virtual_memory().total / GiB:.0f} GiB, Linux {os.uname().release}",
        "students": len(students),
        "seconds": seconds,
        "MiB of a student, at the peak": spread([max(row[uid] for row in rows) / MiB for uid in memory.uids]),
        "MiB of all at once, at the peak": round(max(sum(row.values()) for row in rows) / MiB),
        "MiB of a student, idle": spread([taken / MiB for taken in rows[-1].values()]),
        "MiB on the disk of a student": spread([used(Path(student.user.pw_dir)) / MiB for student in students]),
        "claims": dict(sum((student.claims for student in students), Counter())),
        "wrong": {student.name: student.wrong for student in students if student.wrong},
        "contained": [name for name in tries if not got[name]],
        "for want of a limit": {name: tries[name]["limit"] for name in tries if got[name] and "limit" in tries[name]},
        "not contained": {name: got[name] for name in tries if got[name] and "limit" not in tries[name]},
    }


def drawn(memory: Memory, path: Path) -> None:
    """The memory of the class over time, with its phases."""
    figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
    times = [at for at, _ in memory.rows]
    each = [[row[uid] / GiB for _, row in memory.rows] for uid in memory.uids]
    axes.stackplot(times, each, edgecolor="white", lw=0.3, color="#77779a")
    phases = [*memory.phases.items()]
    for (name, at), (_, end) in itertools.pairwise(phases):
        axes.axvline(at, color="0.4", lw=0.5, ls=":")
        axes.annotate(name, ((at + end) / 2, 1.02), xycoords=("data", "axes fraction"), ha="center", fontsize=8)
    top = max(sum(row.values()) for row in memory.until("tries")) / GiB
    axes.set(xlabel="seconds", ylabel="PSS of all students, GiB", xlim=(0, phases[-1][1]), ylim=(0, 1.05 * top))
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("students", type=int, nargs="?", default=3)
    count = parser.parse_args().students
    if os.geteuid() or not OWNER.pw_uid or not 2 <= count <= 99:
        sys.exit("As root, in a clone that isn't root's, and with 2 to 99 students: sudo make rehearse STUDENTS=20")
    report = INSTALLED / "report"
    with users(count) as found, hub() as at, wall(at):
        shutil.rmtree(report, ignore_errors=True)
        report.mkdir(parents=True)
        students = [Student(*who, at["HUB"], right=number % 3 > 0) for number, who in enumerate(found.items())]
        (memory := Memory([user.pw_uid for user in found])).start()
        got = asyncio.run(class_of(students, at, memory))
        graded(students, report)
        outcome = told(students, got, memory)
        drawn(memory, report / "memory.png")
    (report / "report.json").write_text(text := json.dumps(outcome, indent=1))
    print(text, f"This, the picture and the grades are in {report}.", sep="\n")
    if wrong := outcome["wrong"] | outcome["not contained"]:
        sys.exit(f"Not everything came out as it must: {json.dumps(wrong, indent=1, ensure_ascii=False)}")


if __name__ == "__main__":
    main()
