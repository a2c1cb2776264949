"""Shows, on a machine that lacks the meters, the recorded run of a machine that has them, and says
so.
"""

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

import numpy as np

from .. import folders
from ..kernel import running_shell
from ..measure import (
    Comparison,
    Film,
    Load,
    Machine,
    NotMeasuredHere,
    Recording,
    Sharing,
    here,
)
from ..measure.environment import killed, memory_left
from ..measure.jsonable import in_json
from ..units import MiB, in_words

Measured = Comparison | Recording | Film | Sharing | Load
M = TypeVar("M", Comparison, Recording, Film, Sharing, Load)

# Without any one of these meters the lesson's point can't be seen; the text says so.
NEEDED = {
    "anonymous": "Kinds of memory are not measured here",
    "file": "Kinds of memory are not measured here",
    "page states": "Page states are not measured here",
    "sharing": "Shares of memory are not measured here",
}
# with less, four workers get the notebook killed, and the page cache loses what is measured
LEAST_LEFT = 512 * MiB
# why a recorded run is shown
IN_MEMORY, LIMITED = ("These files are in memory", "of this container's memory")
MOST_SAMPLES = 200  # of one run, in the file
LARGEST_VALUE = 4096  # bytes of JSON

# names of recorded runs that a kernel has shown since a claim was last made
stood_in: list[str] = []
_said: dict[str, int | None] = {}  # in which cell it was said last
_killed = killed()  # processes of this container, because its memory ran out


def recorded(
    name: str, made: M | Callable[[], M] | None = None, needs: str | Sequence[str] = ()
) -> M:
    """`made`, or if this machine can't measure what matters, what data/recorded/`name`.json holds,
    and a printed line that says whose figures these are. `made` may be a function that makes it,
    which isn't called in a container with less than LEAST_LEFT of its memory, or where a library
    that it `needs` is missing. Nor do figures count that were made while the container's memory ran
    out. With nothing made, it's the recorded run, to be set beside your own.

    Without a recorded run the result is `made` itself, whatever it lacks; NotMeasuredHere if
    nothing was made. With ZERO_COPY_RECORD=1 (`make record`), what was made becomes the recorded
    run.
    """
    path = folders.RECORDED / f"{name}.json"
    if made is None:
        return read(path)[0]
    value, refused = None, None
    try:
        for library in (needs,) if isinstance(needs, str) else needs:
            if find_spec(library) is None:
                raise NotMeasuredHere(f"the library {library} is not installed")
        if callable(made):
            if short := _lacking():
                raise NotMeasuredHere(short)
            try:
                value = made()
            except Exception as error:
                raise (NotMeasuredHere(short) if (short := _lacking()) else error) from None
        else:
            value = made
        why = next((NEEDED[meter] for meter in value.missing if meter in NEEDED), None)
        system = getattr(getattr(value, "machine", None), "file_system", None)
        # nothing comes from a disk, and pages count as shared
        if not why and system and folders.in_memory(system):
            why = f"{IN_MEMORY} ({system}): no disk to measure, unless ZERO_COPY_DATA names one"
        if not why and (short := _lacking()):
            why = f"Not measured here: {short}"
    except NotMeasuredHere as error:
        refused = error
        why = f"Not measured here: {error}"
    if why is None:
        if os.environ.get("ZERO_COPY_RECORD") == "1":
            folders.write_whole(path, json.dumps(_plain(value), separators=(",", ":")) + "\n")
        return value
    try:
        found, machine = read(path)
    except (OSError, ValueError, TypeError):
        if refused:
            raise refused from None
        print(f"{why}, and there is no recorded run {name!r}: some figures are missing.")
        return value
    if running_shell():
        stood_in.append(name)
    words = f"{why}. Recorded figures, made on: {machine}"
    cell = getattr(running_shell(), "execution_count", None)
    if cell is None or _said.get(words) != cell:
        print(words)
    _said[words] = cell
    return found


def read(path: Path) -> tuple[Measured, Machine | None]:
    """What a recorded file holds, and the machine it was made on. Raises ValueError if it isn't a
    recorded file.
    """
    plain = json.loads(path.read_text(encoding="utf-8"))
    machine = None
    if isinstance(plain, dict) and set(plain) == {"machine", "made"}:
        machine = Machine(**plain["machine"])
        plain = plain["made"]
    for kind in (Recording, Film, Sharing, Load, Comparison):
        with suppress(ValueError, KeyError, TypeError):
            run = kind.from_json(plain)
            return run, machine or run.machine
    raise ValueError(f"{path} holds nothing that `recorded` wrote")


def _lacking() -> str:
    """What a container's memory is short of: it ran out since this was asked last, or too little is
    left; else "".
    """
    global _killed
    before = _killed
    _killed = killed()
    left, limit = memory_left() or (LEAST_LEFT, 0)
    if _killed == before and left >= LEAST_LEFT:
        return ""
    if _killed > before:
        why = f"{LIMITED} nothing was left, and a process was killed"
    else:
        has, whole, need = (in_words(size, "bytes") for size in (left, limit, LEAST_LEFT))
        why = f"{LIMITED} of {whole}, {has} are left, and lessons need {need}"
    return f"{why}. Shut down the kernels of notebooks that you don't use, then run this cell again"


def _plain(made: Measured) -> dict:
    if isinstance(made, Recording):
        return _short(made).to_json()
    if isinstance(made, Comparison):
        return Comparison({method: [_short(run)] for method, run in made.items()}).to_json()
    if isinstance(made, Sharing):
        rows = tuple(replace(row, value=_short_value(row.value)) for row in made.rows)
        return {"machine": asdict(here()), "made": replace(made, rows=rows).to_json()}
    return made.to_json()


def _short(run: Recording) -> Recording:
    """The same run in a smaller file: fewer samples, the highest of each kind among them."""
    series = {
        name: found
        for name, found in vars(run).items()
        if isinstance(found, np.ndarray) and name != "value"
    }
    if len(run.times) > MOST_SAMPLES:
        even = np.linspace(0, len(run.times) - 1, MOST_SAMPLES - len(series)).astype(int)
        indices = np.unique(np.append(even, [values.argmax() for values in series.values()]))
        series = {name: values[indices] for name, values in series.items()}
    # the rest of a trace names files of that machine
    message = run.error and run.error.strip().splitlines()[-1]
    return replace(run, **series, value=_short_value(run.value), error=message)


def _short_value(value: object) -> object:
    """`value`, or None if it isn't plain data, or isn't short."""
    text = in_json(value)
    return value if text and len(text) <= LARGEST_VALUE else None
