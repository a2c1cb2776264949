"""Lesson 07, erase a lifetime: its exercises and quizzes."""

import os
import secrets
import weakref
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import numpy as np

from ...make import random_file
from ...measure import measure
from ...units import KiB, MiB, in_words
from ..carried import lesson_07 as carried
from ..carried import some
from ..exercises import Attempt, Exercise, Verdict, within
from ..quizzes import Choice, Quiz
from .shared import CRASHED, on_a_file, right_for_each

# --- 07.dangling ----------------------------------------------------------------------------------------------
BUDGET = 8 * MiB


def check_dangling(attempt: Attempt) -> Verdict:
    """The layer, not copied, counted by its mapping, and nothing left when it is gone."""
    path, data = weights(attempt)
    offset, count = 4 * (16 * KiB + secrets.randbelow(8 * KiB)), data.size // 2
    wanted = data[offset // 4 :][:count]
    # The last argument: see carried.handed_out.
    run = attempt.measure(
        carried.handed_out, str(path), offset, count, np.float64(1), memory_limit=4 * data.nbytes + 64 * MiB
    )
    if run.ended in CRASHED:
        why = (
            f"when the array was read its process was ended ({run.ended}): at the addresses that it shows nothing is "
            "mapped any more. Who has closed the mapping? And why did nobody object?"
        )
        return Verdict("not yet", why, recording=run)
    if run.ended == "raised" and "exported pointers exist" in (run.error or ""):
        why = (
            "it raised BufferError: cannot close exported pointers exist. That is a step forward: your array is "
            "counted now, and so the mapping refuses to close. Who wants to close it, while the array is still needed?"
        )
        return Verdict("not yet", why, recording=run)
    stopped = attempt.unless_returned(run)
    if stopped:
        return stopped
    told = run.value
    why = not_the_layer(told, data, offset, wanted)
    if why:
        return Verdict("not yet", why, recording=run)
    if not told["lent"]:
        why = (
            f"the numbers are right, but it is a copy of the layer, {in_words(wanted.nbytes, 'bytes')} that only this "
            "process has: behind your array there is no mapping."
        )
    elif told["counted"] is False:
        why = (
            "the numbers are right, but the mapping does not know of your array. Somebody closed it, nothing was "
            "refused, and the next read would have crashed. `np.ndarray(…, buffer)` and `np.memmap` take an address "
            "and are not counted. Which of numpy's functions makes an array that is?"
        )
    elif told["mapped"]:
        why = (
            "the array is safe, but when it was gone the file was still mapped: something of yours keeps it for ever. "
            "The array itself is the one that has to keep its mapping."
        )
    elif told["files"]:
        why = (
            "the array is safe, but when it was gone a file descriptor was still open. A mapping has one of its own: "
            "close yours as soon as the file is mapped."
        )
    if why:
        return Verdict("not yet", why, recording=run)
    return within(run, BUDGET, "The layer is safe: it keeps its mapping, is counted by it, and leaves nothing behind")


def weights(attempt: Attempt) -> tuple[Path, np.ndarray]:
    """A file of float32 that the student's code has not seen. Multiples of 1/256 from 0 to 1: their sum is exact."""
    data = np.random.default_rng(secrets.randbelow(2**32)).integers(0, 256, attempt.size // 4, np.uint8)
    data = data.astype("f4") / np.float32(256)
    path = attempt.folder / "weights.bin"
    data.tofile(path)
    return path, data


def not_the_layer(told: dict, data: np.ndarray, offset: int, wanted: np.ndarray) -> str | None:
    """None if it has the numbers of the layer; else what it is instead."""
    if told["dtype"] is None:
        named = {"NoneType": "nothing", "mmap": "the mapping itself"}.get(told["type"], f"`{told['type']}`")
        return f"it returned {named}. The caller wants an array of numpy's."
    if told["dtype"] != "float32":
        return f"the numbers in the file are `float32`, yours are `{told['dtype']}`."
    if told["shape"] != (wanted.size,):
        return f"your array has the shape {told['shape']}; the layer has {wanted.size:,} numbers, in one dimension."
    if told["sum"] == float(wanted.sum(dtype="f8")) and told["some"] == some(wanted):
        return None
    if told["some"] == some(data[: wanted.size]):
        return "your array begins at the file's first byte. The layer begins at byte `offset`."
    if told["some"] == some(data[offset:][: wanted.size]):
        return "your array begins four times too far on: `offset` counts bytes, and a float32 has four of them."
    return "your array has not the layer's numbers. Where in the file do they begin, in bytes?"


def layer_by(body: str, before: str = "") -> str:
    """An answer to 07.dangling."""
    return f"{before}def layer(path, offset, count):\n    import mmap\n    import numpy as np\n{body}"


CLOSED = """    with open(path, "rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
"""
OPENED = """    with open(path, "rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
"""
DANGLING = Exercise(
    key="07.dangling",
    title="mend an array that outlives its bytes",
    minutes=10,
    prompt="""
A server maps the file with the weights and hands out one layer of it at a time. In the tests all was well: they only
looked at the length of the array. In production the process is gone at the first request, without a traceback.

Mend `layer(path, offset, count)`. It returns an array of numpy's: the `count` float32 numbers that begin at byte
`offset` of the file.

- The array stays right when it is the last name that is left. Somebody who closes its mapping while the array lives \
gets a BufferError, and not a crash.
- When the array is gone, so are the mapping and the file descriptor.
- Nothing is copied: at most 8 MiB of anonymous memory.

The check calls it in a fresh process, drops every other name, collects the garbage, and reads. Then it tries to close
the mapping.
""",
    starter='''def layer(path, offset, count):
    """The `count` float32 numbers that begin at byte `offset` of the file."""
    import mmap

    import numpy as np

    with (
        open(path, "rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping,
    ):
        return np.ndarray(count, np.float32, mapping, offset)
''',
    judge=check_dangling,
    hints=(
        "`with` closes the mapping when the function returns, and `np.ndarray` did not count, so nobody objected. Two "
        "things to change: who closes the mapping, and which function makes the array.",
        "`np.frombuffer(mapping, np.float32, count, offset)` is counted, and keeps the mapping alive. Leave the "
        "mapping out of the `with`: when the array is gone nobody refers to it any more, and Python unmaps it.",
    ),
    solution_source='''def layer(path, offset, count):
    """The `count` float32 numbers that begin at byte `offset` of the file."""
    import mmap
    import numpy as np

    with open(path, "rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return np.frombuffer(mapping, np.float32, count, offset)
''',
    wrong=(
        (
            layer_by(CLOSED + "        return np.ndarray(count, np.float32, memoryview(mapping), offset)\n"),
            "nothing is mapped any more. Who has closed the mapping",
        ),
        (
            layer_by(CLOSED + "        return np.frombuffer(mapping, np.float32, count, offset)\n"),
            "your array is counted now, and so the mapping refuses to close",
        ),
        (
            layer_by(CLOSED + "        return np.frombuffer(mapping, np.float32, count, offset).copy()\n"),
            "it is a copy of the layer",
        ),
        (layer_by("    return np.fromfile(path, np.float32, count, offset=offset)\n"), "it is a copy of the layer"),
        (
            layer_by(OPENED + "    return np.ndarray(count, np.float32, mapping, offset)\n"),
            "the mapping does not know of your array",
        ),
        (
            layer_by('    return np.memmap(path, np.float32, "r", offset, count)\n'),
            "the mapping does not know of your array",
        ),
        (
            layer_by(
                OPENED + "    kept.append(mapping)\n    return np.frombuffer(mapping, np.float32, count, offset)\n",
                "kept = []\n\n",
            ),
            "the file was still mapped: something of yours keeps it for ever",
        ),
        (
            layer_by("""    import os
    mapping = mmap.mmap(os.open(path, os.O_RDONLY), 0, access=mmap.ACCESS_READ)
    return np.frombuffer(mapping, np.float32, count, offset)
"""),
            "a file descriptor was still open",
        ),
        (
            layer_by(OPENED + "    return np.frombuffer(mapping, np.float32, count)\n"),
            "begins at the file's first byte",
        ),
        (
            layer_by(OPENED + "    return np.frombuffer(mapping, np.float32)[offset:][:count]\n"),
            "begins four times too far on",
        ),
        (layer_by(OPENED + "    return memoryview(mapping)[offset:].cast('f')[:count]\n"), "it returned memoryview"),
    ),
    size=64 * MiB,
)


# --- 07.cart --------------------------------------------------------------------------------------------------
BLOCK = 64 * KiB


def check_cart(attempt: Attempt) -> Verdict:
    """Lends the block's own bytes, read-only; gives them up at once, or with the last view; never unlinks the block."""
    wanted = secrets.token_bytes(BLOCK - secrets.randbelow(KiB))
    block = SharedMemory(create=True, size=len(wanted))
    try:
        block.buf[: len(wanted)] = wanted
        run = attempt.measure(carried.lent, block.name, wanted, memory_limit=256 * MiB)
        size = block.size
    finally:
        block.close()
        is_there = unlinked(block)
    if not is_there:
        why = (
            "the block is gone: your cart has unlinked it. It only attached; who made a block unlinks it, for others "
            "may still want to attach."
        )
        return Verdict("not yet", why, recording=run)
    if run.ended in CRASHED:
        why = (
            f"a view was still out when the cart was closed, and when it was read its process was ended ({run.ended}). "
            "The views that you lend are not counted, so nobody objected when the block was unmapped."
        )
        return Verdict("not yet", why, recording=run)
    stopped = attempt.unless_returned(run)
    if stopped:
        return stopped
    why = not_a_cart(run.value, size)
    figures = (f"{in_words(size, 'bytes')} lent", "three carts closed, and one yoked")
    if why:
        return Verdict("not yet", why, recording=run)
    done = "The cart lends, waits for its last view, and leaves nothing behind; a Yoke runs on it."
    if run.value["tracked"]:
        done += (
            " One thing was not asked: this Python signs up every block that is attached with a resource tracker, "
            "which unlinks it when the process ends (python/cpython#82300). From 3.13 on, `track=False` prevents that."
        )
    return Verdict("right", done, figures, run)


def unlinked(block: SharedMemory) -> bool:
    """Unlinks the block; False if somebody else had done that. Made anew then, so that the tracker forgets the name."""
    try:
        block.unlink()
        return True
    except FileNotFoundError:
        again = SharedMemory(block.name, create=True, size=1)
        again.close()
        again.unlink()
        return False


def not_a_cart(told: dict, size: int) -> str | None:
    """What is wrong with the cart, the first thing that is; None if nothing."""
    if told["type"] == "NoneType":
        return "it returned nothing. `return` the cart."
    if told["missing"]:
        lacks = ", ".join(f"`{name}`" for name in told["missing"])
        return f"it returned `{told['type']}`, which lacks {lacks}. A cart has `lend()`, `close()` and `size`."
    if told["kind"] != "memoryview":
        return f"`lend()` gave `{told['kind']}`. A cart lends a memoryview: it has an owner, and can be released."
    if not told["same"]:
        return "the view that was lent does not show the bytes of the block. Does `lend()` show all of it?"
    if told["size"] != size:
        return f"`size` is {told['size']}; the block has {size:,} bytes."
    if not told["sees"]:
        return (
            "another process changed a byte of the block, and the view that you had lent did not show it: it shows a "
            "copy. Shared memory is shared only as long as nobody copies it."
        )
    if not told["read_only"]:
        return "who borrows the view can write to it. `memoryview.toreadonly()` makes one that can only be read."
    if told["closing"]:
        return f"`close()` failed when no view was out: {told['closing']}."
    if told["left"] not in (None, (False, 0)):
        return "no view was out, `close()` was called, and the block is still " + still(told["left"])
    if told["closing_late"]:
        return (
            f"a view was out, and `close()` raised {told['closing_late']}. A cart may not refuse: it gives the bytes "
            "up at once, or when the last view is gone."
        )
    if not told["later"]:
        return "a view was out when the cart was closed, and then it no longer showed the bytes of the block."
    if told["left_late"] not in (None, (False, 0)) and told["halves"]:
        return (
            "a view was out, so `SharedMemory.close()` raised BufferError, and has closed only half of itself: its "
            "`buf` is released, and now that the last view is gone, too, the block is still "
            f"{still(told['left_late'])} Call it when the last view is gone, not before: a slice, or an array made "
            "from your view, is a view as well. Who is told when nobody looks any more?"
        )
    if told["left_late"] not in (None, (False, 0)):
        gone = "" if told["life"] == "kept" else "The cart and "
        return (
            f"{gone}{'the' if gone else 'The'} last view that was out when `close()` was called "
            f"{'are' if gone else 'is'} gone, and the block is still {still(told['left_late'])} Who is told when "
            "nobody looks any more? A slice, or an array made from your view, is a view as well."
        )
    if told["yoked"] is not True:
        return f"a Yoke could not use it: {told['yoked'] or 'its view did not show the bytes of the block'}."
    return None


def still(left: tuple[bool, int]) -> str:
    """What is left of a cart: mapped, open, or both."""
    mapped, files = left
    return " and ".join(("mapped",) * mapped + ("open: a file descriptor is left",) * (files > 0)) + "."


def cart_by(
    lend: str = "memory.buf.toreadonly()",
    close: str = "self.memory.close()",
    start: str = "",
    size: str = "memory.size",
) -> str:
    """An answer to 07.cart: what `lend` returns, what `close` does, what is done at the start."""
    return f"""class Cart:
    def __init__(self, name):
        from multiprocessing.shared_memory import SharedMemory
        import weakref
        import numpy as np
        self.memory = memory = SharedMemory(name)
        self.size = {size}
        {start or "pass"}

    def lend(self):
        import weakref
        import numpy as np
        memory = self.memory
        return {lend}

    def close(self):
        {close}

def shared_cart(name):
    return Cart(name)
"""


CART = Exercise(
    key="07.cart",
    title="write the cart for shared memory",
    minutes=25,
    prompt="""
Another process has put the weights into a block of shared memory. Yours attaches to it by its name, and a Yoke shall
run on it. Write `shared_cart(name)`. It attaches to the block, and returns an object (write a class for it) with

- `size`: how many bytes the block has,
- `lend()`: a read-only memoryview of all of them, of the block itself and not of a copy,
- `close()`: gives the block up, mapping and file descriptor, at once if nobody looks. If views are still out it does \
not raise: they stay right, and the block is given up when the last one is gone. Slices of a view and arrays made by \
`np.frombuffer` are views as well.

`multiprocessing.shared_memory.SharedMemory(name)` attaches: its `buf` is a memoryview of the block, `size` the bytes,
and `close()` gives up `buf`, mapping and file descriptor. `weakref.finalize(thing, function)` calls the function when
the last reference to the thing is gone.

The block stays where it is: who made it will unlink it. (To attach is also to sign the block up with the process's
resource tracker, which unlinks it when the process ends; from Python 3.13 on, `track=False` prevents that. The check
does not ask for it.)
""",
    starter='''def shared_cart(name):
    """A cart for the shared memory of this name: size, lend() and close()."""
    ...
''',
    judge=check_cart,
    hints=(
        "`SharedMemory.close()` raises BufferError while a counted view is out, and then it has closed only half of "
        "itself. So call it when the last view is gone, not before. `weakref.finalize(owner, function)` calls the "
        "function when `owner` goes. What object do all views have in common that you could make yourself?",
        "`owner = np.ndarray(memory.size, np.uint8, memory.buf)` is not counted, so it does not stop `memory.close`. "
        "All that is made from `memoryview(owner)` keeps `owner` alive. So: `weakref.finalize(owner, memory.close)`, "
        "lend `memoryview(owner).toreadonly()`, and let `close()` drop the cart's own reference to `owner`.",
    ),
    solution_source='''class SharedCart:
    """Lends through an array that is not counted; when it goes, with the last view, the memory is closed."""

    def __init__(self, memory):
        import weakref

        import numpy as np

        self.size = memory.size
        self.owner = np.ndarray(memory.size, np.uint8, memory.buf)
        weakref.finalize(self.owner, memory.close)

    def lend(self):
        if self.owner is None:
            raise ValueError("this cart is closed")
        return memoryview(self.owner).toreadonly()

    def close(self):
        self.owner = None


def shared_cart(name):
    """A cart for the shared memory of this name: size, lend() and close()."""
    from multiprocessing.shared_memory import SharedMemory

    return SharedCart(SharedMemory(name))
''',
    wrong=(
        (
            """def shared_cart(name):
    import weakref
    import numpy as np
    from multiprocessing.shared_memory import SharedMemory

    class Cart:
        def __init__(self):
            self.memory, self.lent = SharedMemory(name), False
            self.size = self.memory.size
        def lend(self):
            self.lent = True
            owner = np.ndarray(self.size, np.uint8, self.memory.buf)
            weakref.finalize(owner, self.memory.close)
            return memoryview(owner).toreadonly()
        def close(self):
            if not self.lent:
                self.memory.close()

    return Cart()
""",
            "when it was read its process was ended",
        ),
        (cart_by(), "A cart may not refuse"),
        (
            cart_by(
                close="""try:
            self.memory.close()
        except BufferError:
            pass"""
            ),
            "has closed only half of itself",
        ),
        (
            cart_by(close="self.memory = None"),
            "has closed only half of itself",
        ),
        (
            cart_by(
                start="self.owner = np.ndarray(memory.size, np.uint8, memory.buf); self.seen = weakref.ref(self.owner)",
                lend="memoryview(self.owner).toreadonly()",
                close="self.owner = None; self.seen() is None and self.memory.close()",
            ),
            "Who is told when nobody looks any more?",
        ),
        (
            cart_by(lend="memoryview(np.ndarray(memory.size, np.uint8, memory.buf)).toreadonly()"),
            "The views that you lend are not counted",
        ),
        (
            cart_by(
                start="self.view = memory.buf.toreadonly(); weakref.finalize(self.view, memory.close)",
                lend="self.view",
                close="del self.view",
            ),
            "a slice, or an array made from your view, is a view as well",
        ),
        (cart_by(lend="memory.buf"), "who borrows the view can write to it"),
        (cart_by(lend="bytes(memory.buf)"), "lend() gave bytes"),
        (cart_by(lend="memoryview(bytes(memory.buf))"), "it shows a copy"),
        (cart_by(lend="memory.buf[:4096].toreadonly()"), "Does lend() show all of it?"),
        (cart_by(size="4096"), "size is 4096; the block has"),
        (cart_by(close="self.memory.close(); self.memory.unlink()"), "your cart has unlinked it"),
        (
            """def shared_cart(name):
    from multiprocessing.shared_memory import SharedMemory
    return SharedMemory(name)
""",
            "returned SharedMemory, which lacks lend",
        ),
    ),
    size=BLOCK,
)


# --- 07.report ------------------------------------------------------------------------------------------------
Steps = tuple[tuple[str, str, str | None], ...]
WORDS = ("BufferError", "crash", "done")
NAMES = ("batch", "cache", "header", "labels", "layer", "rows", "scores", "shard", "totals")


@dataclass(frozen=True)
class Case:
    """A process that `does` something, its steps, what that comes to, and `why`.

    steps: "memoryview v d" is v made from d, as the exercise tells it; letters stand for names.
    found: what the last step came to on one machine (Linux 6.18, Python 3.11), and the letters that it is about.
    """

    does: str
    steps: str
    found: tuple[str, ...]
    why: str


CASES = {
    "view": Case(
        "closes a mapping that a memoryview shows",
        "mmap d, memoryview v d, close d",
        ("BufferError", "v"),
        "A memoryview is counted by its owner, and as long as the count is not 0 the owner may not go.",
    ),
    "released": Case(
        "releases its memoryview before it closes the mapping",
        "mmap d, memoryview v d, release v, close d",
        ("done",),
        "A released view is no longer counted, whoever still has a name for it.",
    ),
    "slice": Case(
        "releases a memoryview, and keeps a slice of it",
        "mmap d, memoryview v d, slice s v, release v, close d",
        ("BufferError", "s"),
        "A slice is a view of its own. Releasing the view that it came from releases nothing else.",
    ),
    "deleted": Case(
        "deletes an array, and keeps a slice of it",
        "mmap d, frombuffer a d, slice s a, del a, close d",
        ("BufferError", "s"),
        "A slice of an array keeps the array alive, by its `base`: `del` took a name, not the array.",
    ),
    "gone": Case(
        "deletes an array and all its slices",
        "mmap d, frombuffer a d, slice s a, del s, del a, close d",
        ("done",),
        "When the last name of a view is gone, so is the view, and its owner counts it no longer.",
    ),
    "alias": Case(
        "has two names for one memoryview, and deletes one of them",
        "mmap d, memoryview v d, name w v, del v, close d",
        ("BufferError", "w"),
        "A second name is the same view. It is there until its last name is gone.",
    ),
    "alias released": Case(
        "has two names for one memoryview, and releases it by one of them",
        "mmap d, memoryview v d, name w v, release v, close d",
        ("done",),
        "A second name is the same view, and that view is released, by whatever name.",
    ),
    "copies": Case(
        "keeps a copy of a view, and a slice of the mapping itself",
        "mmap d, memoryview v d, copy c v, slice h d, del v, close d",
        ("done",),
        "`bytes(view)` is a copy, and so is a slice of a mapping, `mapping[1:]`: both own their bytes.",
    ),
    "uncounted": Case(
        "closes a mapping under an array made by np.ndarray",
        "mmap d, ndarray a d, close d",
        ("crash", "a"),
        "`np.ndarray(…, buffer)` is not counted: nothing is refused, and the array shows addresses that are gone.",
    ),
    "uncounted slice": Case(
        "keeps a slice of an array made by np.ndarray",
        "mmap d, ndarray a d, slice s a, del a, close d",
        ("crash", "s"),
        "What is made from a view that is not counted is not counted either.",
    ),
    "around": Case(
        "makes an array by np.ndarray from a memoryview, and releases that",
        "mmap d, memoryview v d, ndarray a v, release v, close d",
        ("crash", "a"),
        "`np.ndarray` looks through the memoryview at its owner, and takes the address: it is not counted either.",
    ),
    "saved": Case(
        "has a memoryview, and an array made by np.ndarray",
        "mmap d, ndarray a d, memoryview v d, close d",
        ("BufferError", "v"),
        "The memoryview is counted, so the close is refused; the array would not have stopped it, and is safe by luck.",
    ),
    "other": Case(
        "has two mappings, and closes the one that nobody shows any more",
        "mmap d, mmap e, memoryview v d, memoryview w e, release v, close d",
        ("done",),
        "Each owner counts its own views. A view of another mapping is none of its business.",
    ),
    "append": Case(
        "appends to a bytearray that a memoryview and an array show",
        "bytearray d, memoryview v d, frombuffer a d, append d",
        ("BufferError", "v", "a"),
        "To append may move the bytes, so every counted view stops it. Each of the two would have been enough.",
    ),
    "write": Case(
        "writes into a bytearray that a memoryview shows",
        "bytearray d, memoryview v d, write d",
        ("done",),
        "To write moves no byte. The count only forbids what would take the bytes away from under the view.",
    ),
}


def check_explain(attempt: Attempt) -> Verdict:
    """Right for fifteen processes, run for this check; recorded ones where these cannot be run, or differ."""
    as_named = dict(zip("acdehsvw", secrets.SystemRandom().sample(NAMES, 8), strict=True))
    cases = {kind: (steps(case, as_named),) for kind, case in CASES.items()}
    recorded = {
        cases[kind][0]: (case.found[0], *(as_named[letter] for letter in case.found[1:]))
        for kind, case in CASES.items()
    }
    why = {cases[kind][0]: case.why for kind, case in CASES.items()}
    live = live_outcomes(attempt, list(recorded))
    as_meant = {steps: sorted(end) for steps, end in live.items()} == {s: sorted(end) for s, end in recorded.items()}
    where = "ran a moment ago" if as_meant else "were recorded on another machine: this one does not show them"
    words = [end[0] for end in recorded.values()]
    return right_for_each(
        attempt,
        cases,
        lambda said, given: misread(said, given, recorded[given], why[given]),
        who="a process that",
        does={kind: case.does for kind, case in CASES.items()},
        done=f"You explained {len(cases)} processes that {where}.",
        figures=tuple(f"{word}: {words.count(word)}" for word in WORDS),
    )


def live_outcomes(attempt: Attempt, cases: list[Steps]) -> dict[Steps, tuple[str, ...]]:
    """What each case's last step really comes to; nothing where there is no fork, or where they cannot be run."""
    path = random_file(attempt.folder / "mapped.bin", 16 * KiB, seed=secrets.randbelow(2**32))
    run = measure(carried.happened, cases, str(path), name="the processes to be explained")
    return dict(zip(cases, run.value, strict=True)) if run.ended == "returned" else {}


def steps(case: Case, as_named: dict[str, str]) -> Steps:
    """The steps, with names in place of the letters."""
    words = (step.split() for step in case.steps.split(", "))
    return tuple((what, as_named[name], as_named[of[0]] if of else None) for what, name, *of in words)


def misread(said: object, given: Steps, right: tuple[str, ...], why: str) -> str | None:
    """None for the right answer; else what really happened, and why."""
    told = (said.strip("'\""),) if isinstance(said, str) else said  # a word alone comes as its repr
    did = f"The process did `{'; '.join(written(*step) for step in given)}`."
    if not isinstance(told, tuple) or not told or told[0] not in WORDS or not all(type(one) is str for one in told):
        return (
            f'it returned {said if isinstance(said, str) else repr(said)}. Return `"done"` alone, or a tuple: '
            f'`"BufferError"` or `"crash"`, and after it each name, as in `"crash", "rows"`. {did}'
        )
    if (told[0], set(told[1:])) == (right[0], set(right[1:])):
        return None
    what, owner, _ = given[-1]
    last, who = f"the last step, `{what} {owner}`,", listed(right[1:])
    happened = {
        "BufferError": f"{last} raised BufferError, and {who} held the bytes",
        "crash": f"{last} was not refused, and then reading {who} ended the process",
        "done": f"{last} was not refused, and nothing was wrong afterwards",
    }[right[0]]
    answer = told[0] if len(told) == 1 else f"{told[0]}, {listed(told[1:])}"
    return f"you said {answer}, but {happened}. {why} {did}"


def written(what: str, name: str, source: str | None) -> str:
    """A step, as the exercise lists it."""
    makes = {
        "mmap": "mmap.mmap(…)",
        "bytearray": "bytearray(4096)",
        "memoryview": f"memoryview({source})",
        "frombuffer": f'np.frombuffer({source}, "u1")',
        "ndarray": f'np.ndarray(…, "u1", {source})',
        "slice": f"{source}[1:]",
        "copy": f"bytes({source})",
        "name": source,
    }
    does = {"release": f"{name}.release()", "del": f"del {name}", "close": f"{name}.close()"}
    does |= {"append": f"{name}.append(1)", "write": f"{name}[0] = 1"}
    return f"{name} = {makes[what]}" if what in makes else does[what]


def listed(names: tuple[str, ...]) -> str:
    return " and ".join(f"`{name}`" for name in sorted(names))


EXPLAIN = '''def explain(steps):
    """What the last step comes to: "done", or a word and the names that it is about."""
    views = {}  # name -> [the owner that it shows, is it counted?]; two names of one view have one list
    for what, name, source in steps[:-1]:
        if what in ("memoryview", "frombuffer", "ndarray"):
            owner = views[source][0] if source in views else source
            views[name] = [owner, what != "ndarray"]
        elif what == "slice" and source in views:
            views[name] = list(views[source])
        elif what == "name":
            views[name] = views[source]
        elif what == "release":
            views[name][0] = None
        elif what == "del":
            views.pop(name, None)
    what, owner, _ = steps[-1]
    counted = [name for name, view in views.items() if view == [owner, True]]
    uncounted = [name for name, view in views.items() if view == [owner, False]]
    if what == "write" or not counted + uncounted:
        return "done"
    return ("BufferError", *counted) if counted else ("crash", *uncounted)
'''

REPORT = Exercise(
    key="07.report",
    title="explain “cannot close exported pointers exist”",
    minutes=25,
    prompt="""
A user writes: “Our server maps a file, works on it, and closes it at night. Since last week that ends with
`BufferError: cannot close exported pointers exist`, although we release the memoryview. Somebody wrote
`np.ndarray(…, buffer=data)` instead of `np.frombuffer(data)`, and the error went away. Since then the server crashes.”
What the process had done:

    ("mmap",       "data",   None)
    ("memoryview", "rows",   "data")
    ("slice",      "header", "rows")
    ("release",    "rows",   None)
    ("close",      "data",   None)

Write `explain(steps)`: what does the last step come to, and who is to blame? Each step is what was done, a name, and
what the name was made from. These are all there are:

    "mmap"         name = mmap.mmap(…)                 "slice"     name = source[1:]
    "bytearray"    name = bytearray(4096)              "copy"      name = bytes(source)
    "memoryview"   name = memoryview(source)           "name"      name = source
    "frombuffer"   name = np.frombuffer(source, "u1")  "release"   name.release()
    "ndarray"      name = np.ndarray(…, "u1", source)  "del"       del name

Last comes `"close"` for `name.close()`, `"append"` for `name.append(1)`, or `"write"` for `name[0] = 1`.
`explain` returns

- `"BufferError", …` if it is refused; after the word all names that would have to be deleted before it is allowed,
- `"crash", …` if it is not refused, but a later read crashes; after the word each name through which it does,
- `"done"` if all is well.

For the steps above that is `return "BufferError", "header"`. The check runs fifteen processes and asks them.
""",
    starter='''def explain(steps):
    """What the last step comes to: "done", or a word and the names that it is about."""
    ...
''',
    judge=check_explain,
    hints=(
        "Go through the steps and keep a dict: for each name of a view, which owner it shows, and whether that owner "
        "counts it. What does each kind of step do to the dict? Some do nothing: who owns the bytes of a copy?",
        "Put a list `[owner, counted]` into the dict: for `slice` a new list, for `name` the same one, so that "
        "`release` reaches both names. At the end: if a counted view shows the owner, BufferError; else if one shows "
        "it that is not counted, crash. A write asks neither.",
    ),
    solution_source=EXPLAIN,
    wrong=tuple(
        (EXPLAIN.replace(old, new), message)
        for old, new, message in (
            ('if what == "write" or not counted + uncounted:', "if True:", "the count is not 0 the owner may not go"),
            ("views[name][0] = None", "pass", "A released view is no longer counted"),
            ("list(views[source])", "views[source]", "Releasing the view that it came from releases nothing else"),
            ("views.pop(name, None)", "views.clear()", "keeps the array alive, by its base"),
            ("= views[source]\n        elif", "= list(views[source])\n        elif", "is released, by whatever name"),
            ("= views[source][0] if source in views else source", "= source", "looks through the memoryview at its"),
            (
                " and source in views:\n            views[name] = list(views[source])",
                ":\n            views[name] = list(views.get(source, [source, True]))",
                "both own their bytes",
            ),
            ('what != "ndarray"', "True", "nothing is refused, and the array shows addresses that are gone"),
            ("list(views[source])", "[views[source][0], True]", "is not counted either"),
            ("view == [owner, True]", "view[0] and view[1]", "A view of another mapping is none of its business"),
            ("*counted)", "counted[0])", "Each of the two would have been enough"),
            ('what == "write" or ', "", "To write moves no byte"),
            ('("BufferError", *counted)', "counted", 'Return "done" alone, or a tuple'),
        )
    ),
)

EXERCISES = (DANGLING, CART, REPORT)


# --- quizzes --------------------------------------------------------------------------------------------------
def kept_alive() -> int | None:
    """Which of `head`, `some`, `total` keeps the array alive when its own name is gone; 3 if none does."""
    whole = np.arange(4096.0)
    left = {"head": whole[:10], "some": whole[[0, 5]], "total": whole.sum()}
    seen = weakref.ref(whole)
    del whole
    for number, name in enumerate(list(left)):
        was_there = seen() is not None
        del left[name]
        if was_there and seen() is None:
            return number
    return 3


def grown() -> int | None:
    """1 if a lent bytearray can be written but not grown, and one that is not lent moves when it grows."""
    data = bytearray(100)
    at = np.frombuffer(data, np.uint8).ctypes.data
    view = memoryview(data)
    data[0] = 7
    if view[0] != 7:
        return None
    with suppress(BufferError):
        data.append(1)
        return None
    view.release()
    data += bytes(16 * MiB)
    return 1 if np.frombuffer(data, np.uint8).ctypes.data != at else None


def cut(path: Path) -> int | None:
    """3 if reading through a Yoke ends the process with SIGBUS when the file is shorter by then."""

    def read_on(path):
        import os

        from helpers.ideas.carts import MappedFile
        from helpers.ideas.yoke import Yoke

        yoke = Yoke.attach(MappedFile(path), lambda view: view[-8:])
        os.truncate(path, 0)
        return bytes(yoke.get())

    if os.name != "posix":  # Windows does not let anybody cut a file that is mapped
        return None
    return 3 if measure(read_on, str(path)).ended in ("SIGBUS", "SIGSEGV") else 2


QUIZZES = (
    Quiz(
        "07.alive",
        "`whole` is an array of 64 MiB. Then `head = whole[:10]`, `some = whole[[0, 5]]`, `total = whole.sum()`, "
        "and at last `del whole`. The process still has all the 64 MiB. Why?",
        (
            Choice(
                "Because of `head`: it is a view, and a view keeps its whole owner alive.",
                True,
                "Yes. `head.base` is the array that had been called `whole`. It shows ten numbers and keeps all of "
                "them: memory is given back an owner at a time. `whole[:10].copy()` would have let it go.",
            ),
            Choice(
                "Because of `some`: it was taken from `whole`.",
                False,
                "A list as an index copies: `some.base` is not `whole`. It owns its two numbers.",
            ),
            Choice(
                "Because of `total`: to be computed it needed all of them.",
                False,
                "It needed them then. It is a number now, and a number knows nothing of where it came from.",
            ),
            Choice(
                "Because `del` frees nothing: that is left to the garbage collector.",
                False,
                "`del` takes away a name. When nobody else refers to the object, CPython frees it at once; the "
                "collector is there for cycles. So the question is who else refers to it.",
            ),
        ),
        kept_alive,
    ),
    Quiz(
        "07.grow",
        "`data` is a bytearray and `view = memoryview(data)`. `data[0] = 7` works, and `view` shows it. "
        "`data.append(1)` raises BufferError. Why the one and not the other?",
        (
            Choice(
                "A bytearray that is lent can only be read; the write slipped through.",
                False,
                "That would be Rust's rule: as long as something is lent, its owner may not write. Python has no such "
                "rule: the write was allowed, and the view shows it.",
            ),
            Choice(
                "To grow may move the bytes to another address, and the view would show the old one.",
                True,
                "Yes. A write changes bytes where they are. To grow is to ask for a larger block, which may lie "
                "elsewhere, and the view has only an address. So the count forbids it while a view is out.",
            ),
            Choice(
                "The view knows its length, and a byte more would not fit into it.",
                False,
                "A view of the first 10 of 100 bytes fits as well as before, and forbids it all the same. The length "
                "is not the trouble: where are the bytes afterwards?",
            ),
            Choice(
                "`append` has to copy all bytes, and Python avoids a copy that is so dear.",
                False,
                "It makes that copy without a word when nobody looks: release the view, and `append` works.",
            ),
        ),
        grown,
    ),
    Quiz(
        "07.cut",
        "A Yoke holds a view over a mapped file. Another program truncates the file to nothing. What does the next "
        "read through the Yoke do, and why?",
        (
            Choice(
                "It raises BufferError: the bytes are exported.",
                False,
                "The count of exports is in the mapping object of this process. The other program asked the kernel, "
                "and the kernel knows nothing of it.",
            ),
            Choice(
                "It raises ValueError: the Yoke is released.",
                False,
                "Nobody has released it, and nobody tells it. View, mapping and Yoke are all there; only the file's "
                "bytes are not.",
            ),
            Choice(
                "It shows the old bytes: the mapping keeps them.",
                False,
                "That is so when the file is *replaced*: the mapping keeps the old file. But here the file itself was "
                "cut, and its pages were taken out of the page cache and of every page table.",
            ),
            Choice(
                "It ends the process: the page is gone, and the kernel has nothing to put in its place.",
                True,
                "Yes, with SIGBUS. A Yoke keeps the mapping from going away, which is this process's own affair. A "
                "mapped page is lent by the page cache, and what is lent can be taken back.",
            ),
        ),
        on_a_file(cut),
    ),
)
