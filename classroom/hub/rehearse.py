"""A class on this machine, rehearsed, as root: `make rehearse STUDENTS=20`.

It installs the hub in a folder of its own beside the real one, with TLS and a name for each
student, makes Unix users, and lets them all do at once what students do, through the hub's own
pages: log in, start a server, vote on the class's wall, run lessons, check an exercise, hand in.
Then one of them tries what's in tries.toml, what was handed in is collected and graded, and all
leave. What a killed rehearsal left goes at the next start. The exit code says whether all claims,
verdicts and tries came out as they must.
"""

import argparse
import asyncio
import csv
import grp
import itertools
import json
import math
import os
import pwd
import re
import secrets
import shutil
import socket
import ssl
import statistics
import subprocess
import sys
import threading
import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

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
CERTIFICATE = INSTALLED / "tls/certificate.pem"
GROUP = "zero-copy-rehearsal"
DOMAIN = "hub.zero-copy.test"  # a name that nobody has
HOSTS = Path("/etc/hosts")
HOMES = Path("/home/students.rehearsal.zero-copy.test")
# of users, which end with a number
NAMES = ("rehearsal", "Rehearsal.Ümit", "rehearsal-with-thirty-two-letter")
LESSONS = ("01", "02", "06")
ASKED = exercise("02.chunks")
WRONG = next(answer for answer in ASKED.wrong if answer.name == "tail_forgotten")
VOTE = """
import time
from helpers.teach import predict
guess = predict("02.order", "?", order=["one buffer", "async chunks", "sendfile"])
guess.keep(["sendfile", "one buffer", "async chunks"])
until = time.monotonic() + 30  # a wall that is busy gets the answer some seconds later
while "on the wall" not in guess.status and time.monotonic() < until:
    time.sleep(0.5)
print(guess.status)
"""
TRIES = tomllib.loads((HERE / "tries.toml").read_text(encoding="utf-8"))
REFUSED = (
    "PermissionError",
    "HTTPError",
    "CalledProcessError",
    "FileNotFoundError",
    "MemoryError",
    "BlockingIOError",
)
NEW_USER = (
    "useradd",
    "--badname",
    "--create-home",
    "--base-dir",
    HOMES,
    "--key",
    "HOME_MODE=0700",
    "--groups",
    GROUP,
)
# whose the clone is: that user makes the edition, and grades
OWNER = pwd.getpwuid(ROOT.stat().st_uid)

AS_OWNER = {
    "user": OWNER.pw_uid,
    "group": OWNER.pw_gid,
    "extra_groups": [],
    "cwd": ROOT,
    "env": os.environ | {"HOME": OWNER.pw_dir, "USER": OWNER.pw_name, "LOGNAME": OWNER.pw_name},
}


# --- the machine: users, and the hub --------------------------------------------------------------
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
    HOSTS.write_text(
        "".join(line for line in HOSTS.read_text().splitlines(True) if DOMAIN not in line)
    )


@contextmanager
def users(count: int) -> Iterator[dict[pwd.struct_passwd, str]]:
    """This many Unix users, and the password of each."""
    clear()
    try:
        subprocess.run(["groupadd", GROUP], check=True)
        HOMES.mkdir(mode=0o755, exist_ok=True)
        made = {
            f"{NAMES[n % len(NAMES)][:30]}{n:02}": secrets.token_urlsafe() for n in range(count)
        }
        for name in made:
            subprocess.run([*NEW_USER, name], check=True)
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


def installed(taken_by: pwd.struct_passwd) -> list[str]:
    """Installs the hub, where this student has taken what a program of root's might look for in
    /tmp. Returns what root has left there.
    """
    as_owner("make", "class")
    command = [
        HERE / "install",
        BUILD / "class/zero-copy-measured.zip",
        f"https://{DOMAIN}:{free_port()}",
        INSTALLED,
    ]
    beforehand = TRIES["beforehand"]["script"].format(uid=taken_by.pw_uid)
    unshared = ["unshare", "--mount", "bash", "-euc", beforehand, "bash", *command]
    return subprocess.run(
        unshared, check=True, text=True, stdout=subprocess.PIPE
    ).stdout.splitlines()


def certified() -> None:
    """A certificate that only the rehearsal trusts."""
    CERTIFICATE.parent.mkdir(exist_ok=True)
    names = f"subjectAltName=DNS:{DOMAIN},DNS:*.{DOMAIN}"
    key = ["-newkey", "rsa:2048", "-noenc", "-keyout", CERTIFICATE.with_name("key.pem")]
    made = [
        "openssl",
        "req",
        "-x509",
        *key,
        "-subj",
        "/CN=rehearsal",
        "-addext",
        names,
        "-out",
        CERTIFICATE,
    ]
    subprocess.run(made, check=True, capture_output=True)


def named(users: Iterable[str]) -> None:
    """Lets this machine find the hub by its names."""
    program = "import sys; from jupyterhub.utils import subdomain_hook_idna as name; "
    program += "print(*[name(*one.split(), sys.argv[1]) for one in sys.argv[2:]])"
    hub = INSTALLED / "course/.venv/bin/python"
    wanted = [f"{name} {DOMAIN}" for name in users]
    names = subprocess.check_output([hub, "-c", program, "user", *wanted], text=True)
    with HOSTS.open("a") as file:
        file.write(f"127.0.0.1 {DOMAIN} wall--service.{DOMAIN} {names}")


@contextmanager
def running(command: Sequence[str | Path], log: Path, **more: Any) -> Iterator[None]:
    with log.open("w") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, **more)
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def hub() -> Iterator[dict[str, str]]:
    """The installed hub behind nginx, on ports of its own: its address, its proxy's, and where
    itself listens.
    """
    at = {name: f"http://127.0.0.1:{free_port()}" for name in ("outer", "PROXY", "inner")}
    at["HUB"] = (INSTALLED / "address").read_text().strip()
    (INSTALLED / "hub/rehearsal.py").write_text(f"""load_subconfig("jupyterhub_config.py")
c.JupyterHub.bind_url, c.JupyterHub.hub_bind_url = {at["outer"]!r}, {at["inner"]!r}
c.ConfigurableHTTPProxy.api_url = {at["PROXY"]!r}
c.LocalAuthenticator.allowed_groups = {{{GROUP!r}}}
c.Spawner.environment["SSL_CERT_FILE"] = {str(CERTIFICATE)!r}
""")
    site = (
        (HERE / "nginx.conf")
        .read_text()
        .replace("hub.example.org", DOMAIN)
        .replace("/srv/zero-copy", str(INSTALLED))
    )
    site = re.sub(r"listen 80;", f"listen 127.0.0.1:{free_port()};", site).replace(
        "http://127.0.0.1:880", at["outer"]
    )
    site = site.replace("listen 443 ssl", f"listen {at['HUB'].rpartition(':')[2]} ssl")
    (INSTALLED / "hub/nginx.conf").write_text(f"""daemon off;
pid {INSTALLED}/hub/nginx.pid;
events {{}}
http {{ access_log off; {site} }}
""")
    (INSTALLED / "hub/hub.sqlite").unlink(missing_ok=True)
    nginx = ["nginx", "-e", "stderr", "-c", INSTALLED / "hub/nginx.conf"]
    command = [INSTALLED / "course/.venv/bin/jupyterhub", "-f", "rehearsal.py"]
    trusting = ssl.create_default_context(cafile=CERTIFICATE)
    with (
        running(nginx, INSTALLED / "hub/nginx.log"),
        running(command, INSTALLED / "hub/log", cwd=INSTALLED / "hub", umask=0o077),
    ):
        for _ in range(600):
            try:
                httpx.get(f"{at['HUB']}/hub/api/", verify=trusting).raise_for_status()
                break
            except httpx.HTTPError:
                time.sleep(0.1)
        yield at


@contextmanager
def wall(at: dict[str, str]) -> Iterator[None]:
    """The class's wall, started by the owner of the clone. The hub has its page."""
    os.chown(INSTALLED / "wall", OWNER.pw_uid, OWNER.pw_gid)  # who is a teacher, here
    at["wall"] = f"{(INSTALLED / 'class').read_text().strip()}/state"
    options = (INSTALLED / "wall-arguments").read_text().split()
    command = [
        sys.executable,
        "-B",
        "-m",
        "helpers.wall.server",
        *options,
        "--out",
        out := BUILD / "rehearsal",
    ]
    with running(command, Path(os.devnull), **AS_OWNER):
        yield
    shutil.rmtree(out, ignore_errors=True)


# --- a student ------------------------------------------------------------------------------------
@dataclass(eq=False)
class Student:
    user: pwd.struct_passwd
    password: str
    hub: str
    right: bool  # does this one hand in a right answer?
    seconds: dict[str, float] = field(default_factory=dict)
    claims: Counter = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)  # what didn't come out as it must

    def __post_init__(self) -> None:
        self.name, self.deserves = self.user.pw_name, "right" if self.right else "not yet"
        trusting = ssl.create_default_context(cafile=CERTIFICATE)
        self.web = httpx.AsyncClient(
            base_url=self.hub, follow_redirects=True, timeout=300, verify=trusting
        )

    async def log_in(self) -> None:
        """As a browser does: the form, then the page on which one waits for the server."""
        began = time.monotonic()
        self.server = str(await self.started())
        if httpx.URL(self.server).host == DOMAIN:
            self.wrong.append("the server has the hub's own name")
        self.seconds["server"] = time.monotonic() - began
        await self.opened("00_start_here.ipynb")
        await self.run("1 + 1")
        self.seconds["kernel"] = time.monotonic() - began
        await self.closed()

    async def started(self) -> httpx.URL:
        """Where the server is, below whose address all else is."""
        (await self.form(self.password)).raise_for_status()
        while True:
            page = await self.web.get("/hub/user-redirect/lab")
            if page.is_success and page.url.path.startswith("/user/"):
                return page.url.join("./")
            await asyncio.sleep(0.5)

    async def form(self, password: str) -> httpx.Response:
        await self.web.get("/hub/login")
        form = {"username": self.name, "password": password, "_xsrf": self.xsrf("/hub/login")}
        return await self.web.post("/hub/login?next=%2Fhub%2Fspawn", data=form)

    def cookies(self, url: str) -> str:
        return self.web.build_request("GET", url).headers["Cookie"]

    def xsrf(self, url: str) -> str:
        return re.search("_xsrf=([^;]+)", self.cookies(url))[1].strip('"')

    async def api(self, method: str, at: str, content: Any = None) -> Any:
        url = f"{self.server}api/{at}"
        answer = await self.web.request(
            method, url, json=content, headers={"X-XSRFToken": self.xsrf(url)}
        )
        answer.raise_for_status()
        return answer.json() if answer.content else None

    async def opened(self, notebook: str) -> None:
        wanted = {
            "path": notebook,
            "name": notebook,
            "type": "notebook",
            "kernel": {"name": "python3"},
        }
        self.session = await self.api("POST", "sessions", wanted)
        url = f"{self.server}api/kernels/{self.session['kernel']['id']}/channels"
        headers = {
            "Cookie": self.cookies(url),
            "X-XSRFToken": self.xsrf(url),
            "Origin": url[: url.index("/user/")],
        }
        address = HTTPRequest(
            f"ws{url.removeprefix('http')}",
            headers=headers,
            ca_certs=str(CERTIFICATE),
            connect_timeout=300,
        )
        self.socket = await websocket_connect(address, max_message_size=200 * MiB)

    async def closed(self) -> None:
        self.socket.close()
        await self.api("DELETE", f"sessions/{self.session['id']}")

    async def run(self, code: str) -> tuple[str, str]:
        """What a cell showed, as one text, and its error."""
        header = {
            "msg_id": secrets.token_hex(),
            "msg_type": "execute_request",
            "session": "rehearsal",
            "username": self.name,
            "version": "5.3",
            "date": "",
        }
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "allow_stdin": False,
            "stop_on_error": False,
        }
        message = {
            "channel": "shell",
            "header": header,
            "parent_header": {},
            "metadata": {},
            "content": content,
        }
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
        await self.api(
            "PUT", f"contents/{path}", {"type": "notebook", "format": "json", "content": notebook}
        )
        began = time.monotonic()
        await self.opened(path)
        if number == ASKED.key[:2]:
            shown, error = await self.run(VOTE)
            if "on the wall, without your name" not in shown:
                self.wrong.append(f"the wall: {shown}{error}")
        claims, differing = await self.run_all(number, notebook)
        for _ in range(2):
            if differing:
                await self.closed()
                await self.opened(path)
                claims, differing = await self.run_all(number, notebook)
        self.claims += claims
        self.wrong += differing
        self.seconds[number] = time.monotonic() - began
        if number == ASKED.key[:2]:
            _, error = await self.run(
                f'from helpers.teach import hand_in\nprint(hand_in("{number}"))'
            )
            self.wrong += [f"hand_in: {error}"] if error else []
        await self.closed()

    async def run_all(self, number: str, notebook: dict[str, Any]) -> tuple[Counter, list[str]]:
        """Runs the lesson's cells on the kernel. Gives its claims by verdict, and what was measured
        for each that came out differently: on a machine that a class keeps busy one may, so such a
        lesson runs again.
        """
        claims, differing = Counter(), []
        for cell in notebook["cells"]:
            if cell["cell_type"] != "code":
                continue
            shown, error = await self.run(cell["source"])
            for verdict, told in re.findall(
                r'class="zc-claim" data-verdict="([^"]+)">(.*?)</dl>', shown, re.DOTALL
            ):
                claims[verdict] += 1
                if verdict == "differs":
                    differing.append(f"{number}: {' '.join(re.sub('<[^>]+>', ' ', told).split())}")
            if error and "raises-exception" not in cell["metadata"].get("tags", ()):
                self.wrong.append(f"{number}, {cell['id']}: {error}")
            if f'exercise("{ASKED.key}").check' in cell["source"]:
                judged = re.findall(r'data-outcome="([^"]+)"', shown)
                if judged != [self.deserves]:
                    self.wrong.append(f"{ASKED.key}: judged {judged}, not {self.deserves}")
        return claims, differing

    async def takes_port(self, other: "Student") -> str:
        """Listens at all ports of servers but three, and at those as soon as the other's server
        starts. Returns what the other sees of it: "" if it's nothing.
        """
        await self.opened("00_start_here.ipynb")
        hub = f"{self.hub}/hub/api/users/{quote(other.name)}/server"
        headers = {"X-XSRFToken": other.xsrf(hub)}
        (await other.web.delete(hub, headers=headers)).raise_for_status()
        _, error = await self.run(
            f"{TRIES['before']}OTHER = pwd.getpwnam({other.name!r})\n{TRIES['port']['before']}"
        )
        assert not error, error
        answer, (_, error) = await asyncio.gather(
            other.web.get("/hub/spawn"), self.run(TRIES["port"]["code"])
        )
        shown = await other.web.get("/hub/user-redirect/lab")
        assert not error, error
        await self.run(TRIES["port"]["after"])
        self.socket.close()
        if "got:" in answer.text + shown.text:
            return "a page of another's"
        other.server = str(await other.started())
        return ""

    async def tries(self, about: dict[str, str], other: pwd.struct_passwd) -> dict[str, str]:
        """What each try got: "" if it was refused."""
        await self.opened("00_start_here.ipynb")
        constants = "".join(f"{name} = {value!r}\n" for name, value in about.items())
        _, error = await self.run(
            f"{TRIES['before']}{constants}OTHER = pwd.getpwnam({other.pw_name!r})"
        )
        assert not error, error
        found = {}
        for name, one in TRIES["try"].items():
            shown, error = await self.run(one["code"])
            found[name] = shown.partition("got:")[2].strip() or (
                error if not error.startswith(REFUSED) else ""
            )
        self.socket.close()
        return found

    async def leaves_traces(self) -> dict[str, str]:
        """What only `leave` finds, and a token."""
        await self.opened("00_start_here.ipynb")
        _, error = await self.run(TRIES["before"] + TRIES["traces"]["code"])
        url = f"{self.hub}/hub/api/users/{quote(self.name)}/tokens"
        answer = await self.web.post(
            url, headers={"X-XSRFToken": self.xsrf(url)}, json={"note": "for later"}
        )
        self.token = answer.json().get("token", "")
        self.socket.close()
        return {"traces": error}


# --- what it costs, and how it ends ---------------------------------------------------------------
class Memory(threading.Thread):
    """PSS of each of these users, in bytes, once a second: `rows` of seconds and {uid: bytes}."""

    def __init__(self, uids: list[int]) -> None:
        super().__init__(daemon=True)
        self.uids, self.began, self.rows, self.phases = uids, time.monotonic(), [], {}

    def phase(self, name: str) -> None:
        print(f"{time.monotonic() - self.began:5.0f} s  {name}", flush=True)
        self.phases[name] = time.monotonic() - self.began

    def until(self, phase: str) -> list[dict[int, int]]:
        return [row for at, row in self.rows if at < self.phases.get(phase, math.inf)]

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


async def together(memory: Memory, phase: str, doing: dict[Student, Coroutine]) -> None:
    """A phase. What goes wrong for one student is found with that one."""
    memory.phase(phase)
    ended = await asyncio.gather(*doing.values(), return_exceptions=True)
    for student, error in zip(doing, ended, strict=True):
        if error:
            student.wrong.append(f"{phase}: {error!r}")


async def class_of(students: list[Student], at: dict[str, str], memory: Memory) -> dict[str, str]:
    """All that the students do, each phase together. Returns what the first one's tries got."""
    await together(memory, "log in", {student: student.log_in() for student in students})
    for number in LESSONS:
        await together(
            memory, f"lesson {number}", {student: student.lesson(number) for student in students}
        )
    voters = (await students[0].web.get(at["wall"])).json()["joined"]
    if voters != len(students):
        students[0].wrong.append(f"the wall has {voters} voters, not {len(students)}")
    memory.phase("idle")
    await asyncio.sleep(10)
    memory.phase("tries")
    about = at | {"COURSE": str(INSTALLED / "course")}
    first, other, *_ = students
    return {
        "slow-the-log-in": await slowed(first, other),
        "log-somebody-in-by-a-page": await logged_in_by_a_page(first),
        "take-another-s-port": await first.takes_port(other),
        **await first.tries(about, other.user),
        **await first.leaves_traces(),
    }


async def logged_in_by_a_page(first: Student) -> str:
    """A page of one's own may fill in the log-in of whoever looks at it; browsers say so."""
    visitor = Student(first.user, first.password, first.hub, True)
    visitor.web.headers["Sec-Fetch-Site"] = "same-site"
    status = (await visitor.form(visitor.password)).status_code
    return "" if status == 403 else f"the hub said {status}"


async def slowed(first: Student, other: Student) -> str:
    """Twenty wrong passwords at once for one name must not hold up another's log-in."""
    tries = [
        asyncio.create_task(Student(first.user, "", first.hub, True).form("wrong"))
        for _ in range(20)
    ]
    await asyncio.sleep(1)
    began = time.monotonic()
    await Student(other.user, "", other.hub, True).form(other.password)
    took = time.monotonic() - began
    await asyncio.wait(tries)
    all_took = time.monotonic() - began
    return f"a log-in took {took:.0f} of {all_took:.0f} s" if took > all_took / 2 else ""


def graded(students: list[Student], report: Path) -> None:
    """Collects, grades and gives back, and adds to each student's `wrong` what didn't come out as
    it must.
    """
    collected, grades = report / "collected", report / "grades"
    collect = [sys.executable, INSTALLED / "hub/collect.py", "--group", GROUP]
    subprocess.run([*collect, "--lesson", "02", collected], check=True)
    for student in students:
        own = ["02_" + re.sub(r"[^\w-]", "-", student.name) + ".zip"]
        if (there := os.listdir(collected / student.name)) != own:
            student.wrong.append(f"collected: {there}, not {own}")
    for path in (report, collected, *collected.rglob("*")):
        os.chown(path, OWNER.pw_uid, OWNER.pw_gid)
    as_owner(sys.executable, "-B", "-m", "helpers.classroom.grade", collected, "--out", grades)
    with (grades / "gradebook.csv").open(encoding="utf-8-sig") as file:
        outcomes = {
            row["student"]: row["outcome"]
            for row in csv.DictReader(file)
            if row["exercise"] == ASKED.key
        }
    subprocess.run([*collect, "--give-back", grades], check=True)
    for student in students:
        if (graded := outcomes.get(student.name)) != student.deserves:
            student.wrong.append(f"graded: {graded}, not {student.deserves}")
        if not Path(student.user.pw_dir, "my_lessons/feedback/grades.html").is_file():
            student.wrong.append("no feedback")


def has_left(student: Student, at: dict[str, str]) -> None:
    """Makes a student leave, who has left behind all that one can."""
    leave = [
        sys.executable,
        INSTALLED / "hub/leave.py",
        student.name,
        "--group",
        GROUP,
        "--hub",
        at["inner"],
    ]
    done = subprocess.run(leave, text=True, capture_output=True)
    if done.returncode:
        student.wrong.append(f"leave: {done.stdout}{done.stderr}")
    token = {"Authorization": f"token {student.token}"}
    if (status := httpx.get(f"{at['inner']}/hub/api/user", headers=token).status_code) != 403:
        student.wrong.append(f"the token of a student who has left gets {status}")


def spread(numbers: Sequence[float]) -> dict[str, float]:
    return {"median": round(statistics.median(numbers), 1), "worst": round(max(numbers), 1)}


def told(students: list[Student], got: dict[str, str], memory: Memory) -> dict[str, Any]:
    """What the rehearsal found."""
    limits = {name: one["limit"] for name, one in TRIES["try"].items() if "limit" in one}
    seconds = {
        name: spread([student.seconds.get(name, math.nan) for student in students])
        for name in students[0].seconds
    }
    rows = memory.until("tries")
    return {
        "machine": (
            f"{os.cpu_count()} cores, {psutil.virtual_memory().total / GiB:.0f} GiB, Linux "
            f"{os.uname().release}"
        ),
        "students": len(students),
        "seconds": seconds,
        "MiB of a student, at the peak": spread(
            [max(row[uid] for row in rows) / MiB for uid in memory.uids]
        ),
        "MiB of all at once, at the peak": round(max(sum(row.values()) for row in rows) / MiB),
        "MiB of a student, idle": spread([taken / MiB for taken in rows[-1].values()]),
        "MiB on the disk of a student": spread(
            [used(Path(student.user.pw_dir)) / MiB for student in students]
        ),
        "claims": dict(sum((student.claims for student in students), Counter())),
        "wrong": {student.name: student.wrong for student in students if student.wrong},
        "contained": [name for name in got if not got[name]],
        "for want of a limit": {name: why for name, why in limits.items() if got.get(name)},
        "not contained": {name: what for name, what in got.items() if what and name not in limits},
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
        axes.annotate(
            name,
            ((at + end) / 2, 1.02),
            xycoords=("data", "axes fraction"),
            ha="center",
            fontsize=8,
        )
    top = max(sum(row.values()) for row in memory.until("tries")) / GiB
    axes.set(
        xlabel="seconds",
        ylabel="PSS of all students, GiB",
        xlim=(0, phases[-1][1]),
        ylim=(0, 1.05 * top),
    )
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("students", type=int, nargs="?", default=3)
    count = parser.parse_args().students
    if os.geteuid() or not OWNER.pw_uid or not 2 <= count <= 99:
        sys.exit(
            "As root, in a clone that isn't root's, and with 2 to 99 students: sudo make rehearse "
            "STUDENTS=20"
        )
    if missing := [name for name in ("bwrap", "nginx", "openssl") if not shutil.which(name)]:
        sys.exit(f"Missing: {', '.join(missing)}. On Debian: apt install bubblewrap nginx openssl")
    report = INSTALLED / "report"
    with users(count) as found:
        left_in_tmp = installed(taken_by=next(iter(found)))
        certified()
        named(user.pw_name for user in found)
        shutil.rmtree(report, ignore_errors=True)
        report.mkdir(parents=True)
        with hub() as at, wall(at):
            students = [
                Student(*who, at["HUB"], right=number % 3 > 0)
                for number, who in enumerate(found.items())
            ]
            (memory := Memory([user.pw_uid for user in found])).start()
            got = {"find-a-name-of-root-s-in-tmp": ", ".join(left_in_tmp)}
            try:
                got |= asyncio.run(class_of(students, at, memory))
                graded(students, report)
                has_left(students[0], at)
            except Exception as error:  # and there is a report all the same
                students[0].wrong.append(repr(error))
                traceback.print_exc()
            outcome = told(students, got, memory)
            drawn(memory, report / "memory.png")
    (report / "report.json").write_text(text := json.dumps(outcome, indent=1))
    print(text, f"This, the picture and the grades are in {report}.", sep="\n")
    if wrong := outcome["wrong"] | outcome["not contained"]:
        sys.exit(
            f"Not everything came out as it must: {json.dumps(wrong, indent=1, ensure_ascii=False)}"
        )


if __name__ == "__main__":
    main()
