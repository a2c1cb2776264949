"""What happens to the bytes in each of some calls: reads them from stdin as JSON, runs each in a
fork of its own, and prints a line of JSON for each.

As a program, so that what it measures has imported nothing but the library and what `where` needs.
"""

import gc
import json
import os
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..folders import scratch_folder
from ..measure import where
from ..measure.child import Counters
from ..measure.whereabouts import Whereabouts
from ..units import MiB

SIZE = 16 * MiB


def main() -> None:
    job = json.load(sys.stdin)
    print(json.dumps({name: version(name) for name in job["versions"]}), flush=True)
    names = {"SIZE": SIZE, "N": SIZE // 8}
    exec(job["imports"], names)
    gc.freeze()  # a collection in a fork would copy every page that has objects
    for row in job["rows"]:
        reader, writer = os.pipe()
        if os.fork() == 0:
            with scratch_folder("copies") as folder, open(writer, "w") as told:
                os.chdir(folder)
                told.write(json.dumps(_told(job["in_each"], row, names)))
            os._exit(0)
        os.close(writer)
        with open(reader) as told:
            found = told.read()
        os.wait()
        print(found or json.dumps({"error": "it ended without a word"}), flush=True)


def _told(in_each: str, row: dict[str, str], names: dict[str, Any]) -> dict[str, Any]:
    try:
        exec(in_each, names)
        return tried(row, names)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def tried(row: dict[str, str], names: dict[str, Any]) -> dict[str, float | None]:
    """Of the source's bytes, as a share of SIZE: `shared`, those that the result shows (None if it
    has no address); `took`, anonymous and shared memory that the call took at its peak.
    """
    exec(row["given"], names)
    source = spans(eval(row["source"], names)) if row["by"] == "address" else None
    gc.collect()
    gc.disable()
    meters = Counters()
    (resident,) = meters.reset_high_water()
    (mapped,) = meters.sizes(b"RssFile")
    result = eval(row["call"], names)
    peak, now_mapped = meters.sizes(b"VmHWM", b"RssFile")
    took = peak - resident - max(0, now_mapped - mapped)
    return {"shared": _share(spans(result), source), "took": took / SIZE}


def spans(x: Any) -> list[tuple[int, int, str]] | str | None:
    """From and up to which addresses its bytes lie, and in which file; of a path, itself; None if
    it has none.
    """
    if isinstance(x, Path):
        return str(x.resolve())
    try:
        found = where(x)
    except (TypeError, ValueError):
        return None
    parts = [found] if isinstance(found, Whereabouts) else found.values()
    return [*_spans(parts)] or None


def _spans(parts: Iterable[Any]) -> Iterator[tuple[int, int, str]]:
    for part in parts:
        if isinstance(part, Whereabouts):
            yield part.address, part.address + part.size, str(part.path)


def _share(result: Any, source: Any) -> float | None:
    """How much of the result lies in the source: 0 to 1."""
    if not result or source is None:
        return None
    if isinstance(source, str):
        inside = sum(up_to - begin for begin, up_to, path in result if path == source)
    else:
        inside = sum(
            max(0, min(up_to, other[1]) - max(begin, other[0]))
            for begin, up_to, _ in result
            for other in source
        )
    return min(1.0, inside / sum(up_to - begin for begin, up_to, _ in result))


if __name__ == "__main__":
    main()
