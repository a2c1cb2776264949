"""What is served where.

PUT  /models/NAME              a part of a file, or all of it; see `uploads`
HEAD /models/NAME              with Repr-Digest: which byte comes next; without: like GET
GET  /models/NAME              the file; ?through=user takes it through this process's memory
POST /models/NAME/answers      pictures in, digits out; ?backend=mapped|copied|half, ?tenant=NAME
PUT  /models/NAME/tenants/T    the tenant's own weights, as JSON: {"out.bias": [ten numbers]}
GET  /metrics                  what each worker has in memory

The client of lesson 02 brings a file: upload("m.safetensors", address, to="/models/m").
"""

import asyncio
import mmap
import os
from concurrent.futures import Executor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..ideas.safetensors import SafetensorsError
from ..measure.maps import files_in_memory
from ..measure.process import ended_by
from ..measure.sharing import sharing
from ..safe_files import whole_file
from ..serving_limits import body_of
from ..units import GiB, MiB
from .digits import BACKENDS, check_own, pictures_in
from .uploads import collected, parts_of, published, receive
from .validation import Refused, digest_in, disk_full_is_refused, name_of, part_in, refused
from .versions import Versions, version_at
from .wire import FileAnswer

LARGEST_MODEL = 4 * GiB
LARGEST_BODY = MiB
INLINE = 4 * MiB  # bytes of the file times pictures that an answer may take without a thread
PID, ANSWERS, STARTS, ENDED = range(4)
NEVER = -1000
TOTALS = ("answers", "starts", "mapped", "mapped pss", "anonymous", "pss")


class Scoreboard:
    """What each worker has in memory. The kernel says it (proc(5)), so no worker has to be asked:
    Linux. A page of shared memory, which the workers inherit, has a row for each, with its process
    and its answers.
    """

    def __init__(self, workers: int) -> None:
        self.rows = np.frombuffer(mmap.mmap(-1, 32 * workers), np.int64).reshape(workers, 4)
        self.rows[:, ENDED] = NEVER

    def started(self, worker: int, pid: int) -> None:
        self.rows[worker, PID] = pid
        self.rows[worker, STARTS] += 1

    def ended(self, worker: int, code: int) -> None:
        """`code`: the exit code, or minus the number of a signal."""
        self.rows[worker, ENDED] = code

    def figures(self, folder: Path) -> dict[str, Any]:
        """For each worker and all together; bytes. `versions`: files of the folder that are mapped,
        old ones too. pss counts each page once: divided among all who map it; "mapped pss" is that
        of the mapped files alone. None where the kernel doesn't tell. "ended by": how the worker
        before this one ended, by a signal's name or "exited 1"; None if there was none.
        """
        rows = []
        for pid, answers, starts, code in self.rows.tolist():
            row = {
                "pid": pid,
                "answers": answers,
                "starts": starts,
                "ended by": None,
                "versions": None,
                "mapped": None,
                "mapped pss": None,
                "anonymous": None,
                "pss": None,
            }
            row["ended by"] = None if code == NEVER else ended_by(code)
            # it has just ended, or isn't ours to look at
            with suppress(ProcessLookupError, PermissionError):
                for shares in sharing([pid]).rows:  # one, or none
                    models = files_in_memory(folder.resolve(), pid)
                    row["versions"] = len({(region.device, region.inode) for region, _ in models})
                    row["mapped"] = sum(region.end - region.start for region, _ in models)
                    row["mapped pss"] = sum(held["Pss"] for _, held in models)
                    row["anonymous"] = shares.anonymous
                    row["pss"] = shares.pss
            rows.append(row)
        columns = {key: [row[key] for row in rows] for key in TOTALS}
        total = {key: None if None in column else sum(column) for key, column in columns.items()}
        return {"answered by": os.getpid(), "workers": rows, "together": total}


class Service:
    def __init__(self, folder: Path, scoreboard: Scoreboard, worker: int) -> None:
        self.folder, self.scoreboard, self.worker = folder, scoreboard, worker
        self.versions = Versions()
        self.reading: Executor | None = (
            None  # one thread: more of them would each need a buffer (`supervisor`)
        )
        models = "/models/{name}"
        self.app = Starlette(
            routes=[
                Route(models, self.put, methods=["PUT"]),
                Route(models, self.get, methods=["GET", "HEAD"]),
                Route(f"{models}/answers", self.answer, methods=["POST"]),
                Route(f"{models}/tenants/{{tenant}}", self.change, methods=["PUT"]),
                Route("/metrics", self.metrics),
            ],
            exception_handlers=dict.fromkeys((Refused, SafetensorsError, ClientDisconnect), refused)
            | {MemoryError: self.out_of_memory},
        )

    def path(self, request: Request, wanted: bool = True) -> Path:
        """Where the model is, or would be. 404 if that can't be a model's name, or it's `wanted`
        and isn't there.
        """
        path = self.folder / name_of(request.path_params["name"])
        if path.is_dir() or (wanted and not path.is_file()):
            raise Refused(404, f"there is no model {path.name}")
        return path

    async def put(self, request: Request) -> Response:
        path = self.path(request, wanted=False)
        part = part_in(request, LARGEST_MODEL)
        version = await receive(request, path, part)
        headers = {
            "Upload-Offset": str(part.last + 1),
            "Upload-Complete": f"?{version is not None:d}",
        }
        if version is None:
            return Response(status_code=202, headers=headers)
        return JSONResponse({"version": version}, 201, headers | {"ETag": f'"{version}"'})

    async def get(self, request: Request) -> Response:
        if request.method == "HEAD" and "Repr-Digest" in request.headers:
            path = self.path(request, wanted=False)
            digest = digest_in(request)
            offset = collected(parts_of(path, digest), request.headers.get("Upload-Length", ""))
            complete = bool(await published(path, digest))
            return Response(
                headers={"Upload-Offset": str(offset), "Upload-Complete": f"?{complete:d}"}
            )
        return FileAnswer(self.path(request), request)

    async def answer(self, request: Request) -> Response:
        path = self.path(request)
        backend = request.query_params.get("backend", "mapped")
        if backend not in BACKENDS:
            raise Refused(404, f"no backend {backend[:100]!r}; there are {', '.join(BACKENDS)}")
        tenant = request.query_params.get("tenant")
        own = None if tenant is None else self.own(path.name, tenant)
        pictures = pictures_in(await body_of(request, LARGEST_BODY, Refused))
        version, yoke = await self.versions.lend(path, backend, own)

        def read() -> np.ndarray:
            # no name for the view: it would be one more user of the file
            return yoke.get().read(pictures)

        try:
            if yoke.size * len(pictures) < INLINE:
                answers = read()
            else:
                answers = await asyncio.get_running_loop().run_in_executor(self.reading, read)
        finally:
            self.versions.give_back(yoke)
        self.scoreboard.rows[self.worker, ANSWERS] += 1
        return JSONResponse({"version": version, "digits": answers.tolist()})

    async def change(self, request: Request) -> Response:
        path = self.path(request)
        own, body = (
            self.own(path.name, request.path_params["tenant"]),
            await body_of(request, LARGEST_BODY, Refused),
        )
        _, yoke = await self.versions.lend(path, "mapped")
        try:
            check_own(body, {name: array.size for name, array in yoke.get().weights.items()})
        finally:
            self.versions.give_back(yoke)

        def save() -> None:
            with disk_full_is_refused(), whole_file(own, len(body)) as file:
                file.write(body)

        await asyncio.to_thread(save)
        return JSONResponse({"version": version_at(own)}, 201)

    async def out_of_memory(self, request: Request, error: Exception) -> Response:
        await asyncio.to_thread(self.versions.let_go)  # so that it may fit the next time
        return JSONResponse(
            {"error": "this doesn't fit into the memory budget"}, 503, {"Retry-After": "1"}
        )

    def own(self, name: str, tenant: str) -> Path:
        return self.folder / f".{name}@{name_of(tenant)}.json"

    async def metrics(self, request: Request) -> Response:
        return JSONResponse(await asyncio.to_thread(self.scoreboard.figures, self.folder))
