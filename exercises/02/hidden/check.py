"""02.hidden: a bytearray equal to the file, with a peak of at most 1.1 times the file."""

from helpers.teach.inside import no_file_above
from helpers.teach.judging import Attempt, NotYet, Verdict, called, first_difference, within
from helpers.units import MiB

OF_ITS_OWN = "The caller wants a `bytearray` of its own."
INSTEAD = {
    "bytes": "That one cannot be changed in place.",
    "mmap": "That one is a mapping of the file: it cannot grow, and it lives only as long as the file stays as it is.",
    "memoryview": "That one is a view of something else.",
}


def run(function, path, into, most: int) -> tuple[str, int | None]:
    """Name of the result's type, its length. A bytearray goes to the file `into`, where it is compared from outside."""
    no_file_above(most)
    value = function(path)
    if type(value) is bytearray:
        with open(into, "wb") as file:
            file.write(value)
    return type(value).__name__, len(value) if hasattr(value, "__len__") else None


def judge(attempt: Attempt) -> Verdict:
    source = attempt.random_file()
    size, into = source.stat().st_size, attempt.folder / "loaded.bin"
    seen = attempt.run(run, source, into, 2 * size + 64 * MiB, memory_limit=5 * attempt.size + 64 * MiB)
    kind, length = seen.value
    if kind != "bytearray":
        raise NotYet("no-bytearray", f"it returned {called(kind)}. {INSTEAD.get(kind, '')} {OF_ITS_OWN}")
    if length != size:
        raise NotYet("wrong-length", f"the bytearray has {length:,} bytes, the file {size:,}.")
    at = first_difference(attempt.twin(source), into)
    if at is not None:
        why = f"bytearray and file differ from byte {at:,} on. Did every byte arrive?"
        raise NotYet("other-bytes", why)
    return within(seen, int(1.1 * size), "The bytearray equals the file")
