"""The running server as boxes: where its workers are asked, who forks them, and what they share."""

from collections.abc import Mapping
from typing import Any

from ...show.boxes import Arrow, Box
from ...show.chart import Row, chart
from ...show.figure import FILE, QUIET, SHARED, Kind, Picture, look
from ...show.text import BOLD, PLAIN
from ...show.words import count

OPENING = "The processes of the server, and what they share"
HIGH = {"lane": 26, "aside": 18}
LOW = {"lane": 14, "aside": -18}


@look()
def program(running: Mapping[str, Any], caption: str = "") -> Picture:
    """What a server says of itself at /metrics, with its `address` and the process of its
    `watcher`: a box for each of its workers, an even number; above them the port and the watcher,
    below them the folder, with arrows from those that have a model mapped, and the board.
    """
    port = _box("one port", f"{running['address']}, for the requests")
    watcher = _box("the watcher", f"process {running['watcher']}, forks the workers")
    folder = _box("the folder", "a file, mapped by the workers", FILE)
    board = _box("the board", "a page with their counts", SHARED)
    workers = []
    arrows = []
    words = []
    for worker in running["workers"]:
        answers = count(worker["answers"], "answer")
        box = _box(f"worker {worker['pid']}", answers)
        workers.append(box)
        words.append(f"worker {worker['pid']} has given {answers}")
        arrows += [Arrow(port, box, **LOW), Arrow(watcher, box, color=QUIET, **HIGH)]
        arrows.append(Arrow(box, board, color=SHARED.edge, **HIGH))
        if worker["versions"]:
            arrows.append(Arrow(box, folder, color=FILE.edge, **LOW))
            words.append("maps the model")
    half = len(workers) // 2
    above = (
        f"process {running['watcher']} forks the workers, and {running['address']} leads to them"
    )
    rows = [
        Row("", half * [port] + half * [watcher], [above]),
        Row("", workers, words),
        Row("", half * [folder] + half * [board], ["all count their answers on the board"]),
    ]
    return chart(OPENING, rows, caption, arrows=arrows, between=44, widest=160)


def _box(title: str, line: str, kind: Kind | None = None) -> Box:
    return Box([(title, BOLD), (line, PLAIN)], kind, align="center")
