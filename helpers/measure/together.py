"""`together`: measure functions that need each other, such as a server and its client, at the same time."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .recording import Comparison
from .run import measure


def together(functions: Mapping[str, Callable], **options: Any) -> Comparison:
    """Calls all functions at once, each in a fresh process of its own, and returns when the last has ended.

    together({"server": partial(receive, folder, port), "client": partial(upload, path, address)}, timeout=20)

    Options and errors are those of `measure`. A function that waits for another that has failed waits for its timeout.
    """
    with ThreadPoolExecutor(len(functions)) as pool:
        runs = {name: pool.submit(measure, call, name=name, **options) for name, call in functions.items()}
        return Comparison({name: [run.result()] for name, run in runs.items()})
