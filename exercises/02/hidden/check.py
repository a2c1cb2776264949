"""02.hidden: a bytearray equal to the file, with a peak of at most 1.1 times the file."""

import secrets

from helpers.teach.inside import kind_of, no_file_above
from helpers.teach.judging import (
    Attempt,
    NotYet,
    Verdict,
    called,
    first_difference,
    own_memory,
    within,
)
from helpers.units import MiB, in_words

OF_ITS_OWN = "The caller wants a `bytearray` of its own."
INSTEAD = {
    "bytes": "`bytes` can't be changed in place.",
    "mmap.mmap": "A mapping can't grow, and it's good only while the file stays as it is.",
    "memoryview": "A view shows another object's bytes.",
}
# the result, until the process ends: the last sample is sure to see its memory, however short the
# call was
held = []


def run(function, path, into: str, most: int, open=open) -> str:
    """The kind of the result. A bytearray is written to the new file `into`, to be compared from
    outside.
    """
    no_file_above(most)
    held.append(value := function(path))
    if kind_of(value) == "bytearray":
        with open(into, "xb") as file:
            file.write(value)
    return kind_of(value)


def judge(attempt: Attempt) -> Verdict:
    source, into = attempt.random_file(), attempt.folder / secrets.token_hex(8)
    size = source.stat().st_size
    limit, look = 5 * attempt.size + 64 * MiB, attempt.note_return
    seen = attempt.run(run, source, str(into), 2 * size + 64 * MiB, memory_limit=limit, look=look)
    if seen.value != "bytearray":
        why = f"it returned {called(seen.value)}. {OF_ITS_OWN} {INSTEAD.get(seen.value, '')}"
        raise NotYet("no-bytearray", why.rstrip())
    if (length := into.lstat().st_size) != size:
        raise NotYet("wrong-length", f"the bytearray has {length:,} bytes, the file {size:,}.")
    if attempt.is_late(into):
        raise NotYet("late", "after the function had returned, something still wrote the bytes.")
    own = own_memory(seen)
    if own is not None and own < 0.9 * size:
        why = (
            f"its process never had more than {in_words(own, 'bytes')} of its own, so the bytes "
            "aren't its own"
        )
        raise NotYet("no-bytearray", f"{why}. {OF_ITS_OWN}")
    at = first_difference(attempt.twin(source), into)
    if at is not None:
        why = f"the bytearray and the file first differ at byte {at:,}. Did every byte arrive?"
        raise NotYet("other-bytes", why)
    # the interpreter itself takes some hundred KiB meanwhile
    budget = max(int(1.1 * size), size + MiB)
    return within(seen, budget, "The bytearray equals the file")
