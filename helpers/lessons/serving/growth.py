"""`growth`: the highest anonymous memory of processes that run already, over what they had at first."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace

from ...measure import sampler

INTERVAL = 0.001  # seconds


@contextmanager
def growth(pids: Iterable[int]) -> Iterator[SimpleNamespace]:
    """Watches the processes from outside while the block runs. After it, `anonymous` is in bytes, of all the processes
    together; None where the system doesn't tell.

    with growth(pids) as grown:
        upload(path, address)
    print(grown.anonymous)
    """
    watched = [sampler.choose()(pid) for pid in pids]
    first = _anonymous(watched)
    result, over = SimpleNamespace(anonymous=None if first is None else 0), threading.Event()

    def watch() -> None:
        ended = False
        while not ended:
            ended = over.wait(INTERVAL)  # and once more after the block: what it left may be younger than a sample
            if (now := _anonymous(watched)) is not None:
                result.anonymous = max(result.anonymous, now - first)

    thread = threading.Thread(target=watch if first is not None else over.wait)
    thread.start()
    try:
        yield result
    finally:
        over.set()
        thread.join()
        for each in watched:
            each.close()


def _anonymous(watched: list[sampler.Sampler]) -> int | None:
    samples = [sample for each in watched if (sample := each.read())]
    sizes = [sample.anonymous for sample in samples if sample.anonymous is not None]
    return sum(sizes) if sizes else None
