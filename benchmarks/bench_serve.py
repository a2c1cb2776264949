"""The model server: answers, swaps under load, downloads: `python benchmarks/bench_serve.py`. It
needs wrk.

httptools, hypercorn, granian and nginx get a row if they are installed. `--swaps 10000` also swaps
that often, and looks at the memory. `--short` is for a quick try.
"""

import argparse
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import psutil

from helpers.folders import generated
from helpers.ideas.safetensors import save
from helpers.make import digit_model, digits
from helpers.serve import serve
from helpers.serve.client import ask, metrics, put
from helpers.serve.digits import digits_in
from helpers.units import MiB

PICTURES = digits()[0].reshape(-1, 64)[:20]
CONNECTIONS, DOWNLOADS = 16, 4
MODELS = {"m": "38 KiB", "wide": "8 MiB"}  # by name in the server
SCRIPT = """
wrk.method = "POST"
wrk.body = "%s"
seen, threads = {}, {}
function setup(thread) table.insert(threads, thread) end
function response(status, headers, body) seen[body] = (seen[body] or 0) + 1 end
function done(summary, latency)
  for _, thread in ipairs(threads) do
    for body, count in pairs(thread:get("seen")) do print("SEEN " .. count .. " " .. body) end
  end
  print("P99 " .. latency:percentile(99))
end
"""
APP = """
import os
from pathlib import Path
from starlette.responses import FileResponse
from starlette.routing import Route
from helpers.serve.app import Scoreboard, Service
folder = Path(os.environ["MODELS"])
app = Service(folder, Scoreboard(1), 0).app
app.router.routes.insert(0, Route("/plain", lambda request: FileResponse(folder / "large")))
"""
SERVERS = {
    "uvicorn, h11": (
        "h11",
        "uvicorn --http h11 --loop asyncio --no-access-log --log-level error --port {} app:app",
    ),
    "uvicorn, httptools": (
        "httptools",
        (
            "uvicorn --http httptools --loop asyncio --no-access-log --log-level error --port {} "
            "app:app"
        ),
    ),
    "hypercorn": ("hypercorn", "hypercorn --log-level error -b 127.0.0.1:{} app:app"),
    "granian": (
        "granian",
        "granian --interface asgi --loop asyncio --no-access-log --port {} app:app",
    ),
}
NGINX = """
{user}daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{}}
http {{ access_log off; sendfile on; server {{ listen 127.0.0.1:{port}; root {folder}; }} }}
"""


def load(scratch: Path, url: str, seconds: float) -> subprocess.Popen:
    (scratch / "load.lua").write_text(
        SCRIPT % "".join(f"\\{byte:03d}" for byte in PICTURES.tobytes())
    )
    arguments = [
        "-t1",
        f"-c{CONNECTIONS}",
        f"-d{seconds:.0f}s",
        "-s",
        str(scratch / "load.lua"),
        url,
    ]
    return subprocess.Popen(["wrk", *arguments], stdout=subprocess.PIPE, text=True)


def told(loading: subprocess.Popen) -> tuple[float, float, int, dict[str, int]]:
    """Answers per second, the slowest 1 % in ms, requests that failed, and how often each answer
    came.
    """
    text, _ = loading.communicate()
    failed = sum(
        map(
            int,
            re.findall(r"(?:Non-2xx or 3xx responses:|connect|read|write|timeout) (\d+)", text),
        )
    )
    seen = {
        body: int(count) for count, body in re.findall(r"^SEEN (\d+) (.*)$", text, re.MULTILINE)
    }
    slowest = float(re.search(r"^P99 (.*)$", text, re.MULTILINE)[1]) / 1000
    return float(re.search(r"Requests/sec: *([\d.]+)", text)[1]), slowest, failed, seen


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


@contextmanager
def running(command: list[str], port: int, **options: object) -> Iterator[psutil.Process]:
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options
    ) as process:
        try:
            while not reachable(port):
                time.sleep(0.05)
            yield psutil.Process(process.pid)
        finally:
            process.terminate()


def reachable(port: int) -> bool:
    with socket.socket() as line:
        return line.connect_ex(("127.0.0.1", port)) == 0


def servers(scratch: Path, seconds: float) -> None:
    """The same application, in one process of each server."""
    print("| server | answers/s | slowest 1 % |\n|---|---:|---:|")
    for title, (package, arguments) in SERVERS.items():
        if find_spec(package):
            port = free_port()
            with running(
                [sys.executable, "-m", *arguments.format(port).split()],
                port,
                cwd=scratch,
                env=environment(scratch),
            ):
                told(load(scratch, f"http://127.0.0.1:{port}/models/m/answers", 1))
                rate, slowest, *_ = told(
                    load(scratch, f"http://127.0.0.1:{port}/models/m/answers", seconds)
                )
            print(f"| {title} | {rate:,.0f} | {slowest:.1f} ms |", flush=True)


def environment(scratch: Path) -> dict[str, str]:
    paths = os.pathsep.join(filter(None, (str(scratch), os.getcwd(), os.environ.get("PYTHONPATH"))))
    return os.environ | {
        "MODELS": str(scratch / "models"),
        "PYTHONPATH": paths,
        "OPENBLAS_NUM_THREADS": "1",
    }


def backends(scratch: Path, address: str, seconds: float) -> None:
    """In turns, so that whatever else the machine does hits all of them; the best of three."""
    rates: dict[tuple[str, str], list[float]] = {}
    for _ in range(3):
        for model in MODELS:
            for backend in ("mapped", "copied", "half"):
                loading = load(
                    scratch, f"http://{address}/models/{model}/answers?backend={backend}", seconds
                )
                rates.setdefault((model, backend), []).append(told(loading)[0])
    print("\n| model | weights | answers/s, best of 3 | the others |\n|---|---|---:|---:|")
    for (model, backend), (*others, best) in ((name, sorted(each)) for name, each in rates.items()):
        worse = ", ".join(f"{rate:,.0f}" for rate in others)
        print(f"| {MODELS[model]} | {backend} | {best:,.0f} | {worse} |", flush=True)


def swaps(scratch: Path, address: str, model: str, count: int, seconds: float) -> None:
    """Under full load, an upload every `seconds / count`. Each answer must be that of the version
    it names.
    """
    files = [
        digit_model(scratch / f"{turn}.safetensors", turn, MODELS[model]) for turn in range(10)
    ]
    url = f"http://{address}/models/{model}/answers"
    calm, calm_slowest, *_ = told(load(scratch, url, seconds / 2))
    turns = {put(address, model, files[0]).json["version"]: 0}
    loading, began, took = load(scratch, url, seconds), time.monotonic(), []
    for swap in range(1, count + 1):
        time.sleep(max(0, began + swap * (seconds - 1) / count - time.monotonic()))
        before = time.monotonic()
        turns[put(address, model, files[swap % 10]).json["version"]] = swap % 10
        took.append(time.monotonic() - before)
    rate, slowest, failed, seen = told(loading)
    right = {
        turn: digits_in(memoryview(file.read_bytes())).read(PICTURES).tolist()
        for turn, file in enumerate(files)
    }
    answers = [(json.loads(body), often) for body, often in seen.items()]
    torn = sum(
        often for answer, often in answers if answer["digits"] != right[turns[answer["version"]]]
    )
    again, again_slowest, *_ = told(load(scratch, url, seconds / 2))
    print(
        f"\n| {MODELS[model]} | answers/s | slowest 1 % | failed | torn "
        "|\n|---|---:|---:|---:|---:|"
    )
    print(f"| no swaps, before | {calm:,.0f} | {calm_slowest:.1f} ms | | |")
    print(
        f"| {count} swaps in {seconds:.0f} s | {rate:,.0f} | {slowest:.1f} ms | {failed} | {torn} |"
    )
    print(f"| no swaps, after | {again:,.0f} | {again_slowest:.1f} ms | | |")
    named = len({answer["version"] for answer, _ in answers})
    middle, most = (f"{1000 * seconds:.0f} ms" for seconds in (sorted(took)[count // 2], max(took)))
    total = f"{sum(seen.values()):,} answers named {named} versions"
    print(f"\n{total}. An upload took {middle} (median), {most} at most.", flush=True)


def downloads(scratch: Path, address: str, pids: list[int], mib: int) -> None:
    """Processor time of the server, in its own process and in the kernel for it."""
    large = scratch / "models" / "large"
    large.write_bytes(os.urandom(mib * MiB))
    port, nginx_port = free_port(), free_port()
    rows = [
        ("sendfile", "/models/large", address, [psutil.Process(pid) for pid in pids]),
        (
            "through user space",
            "/models/large?through=user",
            address,
            [psutil.Process(pid) for pid in pids],
        ),
    ]
    command = [sys.executable, "-m", *SERVERS["uvicorn, h11"][1].format(port).split()]
    with running(command, port, cwd=scratch, env=environment(scratch)) as plain:
        rows.append(("Starlette's FileResponse", "/plain", f"127.0.0.1:{port}", [plain]))
        if nginx := shutil.which("nginx"):
            # its worker must be able to read the folder
            user = "" if os.geteuid() else "user root; "
            (scratch / "nginx.conf").write_text(
                NGINX.format(folder=scratch / "models", port=nginx_port, user=user)
            )
            with running([nginx, "-c", str(scratch / "nginx.conf")], nginx_port) as master:
                rows.append(
                    (
                        "nginx, sendfile",
                        "/large",
                        f"127.0.0.1:{nginx_port}",
                        [master, *master.children()],
                    )
                )
                _downloads(rows, mib)
        else:
            _downloads(rows, mib)
    large.unlink()


def _downloads(rows: list, mib: int) -> None:
    figures: dict[str, list[tuple[float, float]]] = {}
    for _ in range(3):
        for title, path, address, processes in rows:
            before, began = spent(processes), time.monotonic()
            for _ in range(DOWNLOADS):
                assert drained(address, path) == mib * MiB
            figures.setdefault(title, []).append(
                (spent(processes) - before, time.monotonic() - began)
            )
    print(
        f"\n| {DOWNLOADS} × {mib} MiB | processor time of the server, best of 3 | wall "
        "|\n|---|---:|---:|"
    )
    for title, each in figures.items():
        cpu, wall = min(each)
        print(f"| {title} | {cpu:.2f} s | {wall:.2f} s |", flush=True)


def spent(processes: list[psutil.Process]) -> float:
    return sum(sum(process.cpu_times()[:2]) for process in processes)


def drained(address: str, path: str) -> int:
    """Reads an answer and drops it; returns the length of its body."""
    line = HTTPConnection(address, timeout=60)
    line.request("GET", path)
    answer, buffer, count = line.getresponse(), bytearray(MiB), 0
    while got := answer.readinto(buffer):
        count += got
    line.close()
    return count


def first_answers(models: Path, mib: int) -> None:
    """From a worker's first request to its answer; the worker is already there, and the file is in
    the page cache.
    """
    print(
        f"\n| model of {mib:,} MiB | weights | first answer | second | anonymous | first of a new "
        "worker |"
    )
    print("|---|---|---:|---:|---:|---:|")
    for title, part in (("all of it used", 1), ("a tenth used", 10)):
        hidden = mib * MiB // part // 300
        weights = {
            "hidden.weight": np.ones((hidden, 64), "f4"),
            "hidden.bias": np.ones(hidden, "f4"),
            "out.weight": np.ones((10, hidden), "f4"),
            "out.bias": np.ones(10, "f4"),
            "unused": np.ones(mib * MiB * (part - 1) // part, "u1"),
        }
        save(weights, models / "large")
        del weights
        for backend in ("mapped", "copied"):
            first, second, grown = min(first_answer(models, backend) for _ in range(3))
            took, own = f"{first:.3f} s | {second:.3f} s", f"{grown / MiB:,.0f} MiB"
            new = min(successor(models, backend) for _ in range(3))
            print(f"| {title} | {backend} | {took} | {own} | {new:.3f} s |", flush=True)
    (models / "large").unlink()


def first_answer(models: Path, backend: str) -> tuple[float, float, float]:
    """Seconds for the first answer and for the second, and by how many bytes the worker's own
    memory has grown.
    """
    with serve(models, workers=1) as server:
        line, took = HTTPConnection(server.address, timeout=60), []
        before = metrics(server.address)["together"]["anonymous"]
        for _ in range(2):
            began = time.perf_counter()
            line.request("POST", f"/models/large/answers?backend={backend}", PICTURES[:1].tobytes())
            line.getresponse().read()
            took.append(time.perf_counter() - began)
        return *took, metrics(server.address)["together"]["anonymous"] - before


def successor(models: Path, backend: str) -> float:
    """Seconds from the death of the only worker to the first answer of the worker that takes its
    place.
    """
    with serve(models, workers=1) as server:
        time.sleep(2)  # a worker that dies young is replaced later
        os.kill(metrics(server.address)["workers"][0]["pid"], signal.SIGKILL)
        began = time.perf_counter()
        while True:
            with suppress(OSError, HTTPException):
                ask(
                    server.address,
                    "POST",
                    f"/models/large/answers?backend={backend}",
                    PICTURES[:1].tobytes(),
                )
                return time.perf_counter() - began


def memory(scratch: Path, address: str, count: int) -> None:
    """Anonymous memory of all workers, and versions mapped, over many swaps; each version
    answers.
    """
    files = [digit_model(scratch / f"{turn}.safetensors", turn) for turn in range(2)]
    print("\n| swaps | anonymous, all workers | versions mapped |\n|---:|---:|---:|")
    for swap in range(count + 1):
        put(address, "m", files[swap % 2])
        for _ in range(4):
            ask(address, "POST", "/models/m/answers", PICTURES.tobytes())
        if swap % max(1, count // 10) == 0:
            time.sleep(1)  # idle workers let go of old versions
            found = metrics(address)
            versions = sum(worker["versions"] for worker in found["workers"])
            print(
                f"| {swap:,} | {found['together']['anonymous'] / MiB:.1f} MiB | {versions} |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--swaps", type=int, default=0, help="also look at the memory over so many swaps"
    )
    parser.add_argument("--short", action="store_true")
    asked = parser.parse_args()
    if not shutil.which("wrk"):
        return print("bench_serve.py needs wrk: apt install wrk")
    with tempfile.TemporaryDirectory(prefix="bench-", dir=generated()) as folder:
        scratch = Path(folder)
        (models := scratch / "models").mkdir()
        (scratch / "app.py").write_text(APP)
        for name, size in MODELS.items():
            digit_model(models / name, size=size)
        servers(scratch, 2 if asked.short else 6)
        with serve(models) as server:
            backends(scratch, server.address, 1 if asked.short else 5)
            for model in MODELS:
                swaps(scratch, server.address, model, *((10, 6) if asked.short else (100, 60)))
            pids = [child.pid for child in psutil.Process(server.pid).children()]
            downloads(scratch, server.address, pids, 32 if asked.short else 256)
            if asked.swaps:
                memory(scratch, server.address, asked.swaps)
        first_answers(models, 64 if asked.short else 1024)


if __name__ == "__main__":
    main()
