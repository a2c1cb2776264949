"""07.cart: lends the block's own bytes, read-only; gives them up at once, or with the last view;
never unlinks.
"""

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from threading import Event, Thread

from helpers.owners import is_mapped_at
from helpers.teach.inside import is_mapped, open_files
from helpers.teach.judging import CRASH, Attempt, NotYet, Verdict, called, right
from helpers.units import KiB, MiB, in_words

# bytes of the block, and of those at its start that change all the time
BLOCK, CLOCK = (64 * KiB, 8)
SLIPS = {
    "no-cart": "it returned {}. A cart has `lend()`, `close()` and `size`.",
    "other-view": (
        "expected a memoryview of the block's bytes from `lend()`, and their number as `size`; "
        "got {}."
    ),
    "copy": (
        "the block was changed from outside, and the view that you lent didn't show it. It shows a "
        "copy."
    ),
    "writable": (
        "the borrower can write to the view. `memoryview.toreadonly()` makes a view that can only "
        "be read."
    ),
    "refuses": (
        "`close()` raised {}. A cart mustn't refuse: it gives the bytes up at once, or when the "
        "last view goes."
    ),
    "not-counted": (
        "a view was out when the cart was closed, and the block went from under it: reading the "
        "view crashed the process, or gave other bytes. The views you lend aren't counted, so "
        "`close()` couldn't know."
    ),
    "left-behind": (
        "the cart is closed and no view is out, but the block is still {}. Which code of yours "
        "runs when the last view goes? A slice of your view, or an array made from it, is a view "
        "too. (A `SharedMemory.close()` that raises BufferError has released its `buf` and still "
        "maps the block: call it after the last view, not before.)"
    ),
    "no-yoke": "a Yoke couldn't use it: {}.",
    "unlinked": (
        "your cart unlinks the block. It only attached to it; unlinking is up to whoever made the "
        "block."
    ),
}
IN_USE = "Device or resource busy"  # the error of unlinking a block that is lent to a sandbox


def run(function, name: str) -> tuple[list[dict], dict, bool]:
    """What was seen of three carts and of a Yoke, and whether the block was registered with the
    resource tracker.

    Starts no tracker but notes what it would be sent, so that no tracker can unlink the block when
    this process ends. Prints no traceback where a finalizer can't close.
    """
    import sys
    from multiprocessing import resource_tracker

    import numpy  # noqa: F401  before the files are counted

    signed_up = set()

    def unraisable(raised, otherwise=sys.__unraisablehook__):
        if raised.exc_type is not BufferError:
            otherwise(raised)

    resource_tracker.ResourceTracker._send = lambda _, command, name, kind: signed_up.add(command)
    sys.unraisablehook = unraisable
    told = [
        seen_of(function, name, *life)
        for life in (((), False), ((16, 32), False), ((16, 32), True))
    ]

    # imported late, when nothing of the student's is measured any more
    from helpers.ideas.yoke import Yoke

    try:
        with Yoke.attach(function(name), lambda view: view[16:32]) as yoked:
            yoke = {"bytes": bytes(yoked)}
    except Exception as error:
        yoke = {"error": f"{type(error).__name__}: {error}"}
    return told, yoke, signed_up == {"REGISTER"}  # and not unregistered again


def seen_of(function, name: str, views: tuple, dropped: bool) -> dict:
    """Closes a cart while views from these bytes on are out, and drops it if `dropped`. Returns
    what it saw.
    """
    import gc

    import numpy as np

    files, cart = open_files(), function(name)
    if not all(hasattr(cart, each) for each in ("lend", "close", "size")):
        return {"none": type(cart).__name__}
    first, view = cart.lend(), cart.lend()
    if type(view) is not memoryview or view.itemsize != 1 or type(cart.size) is not int:
        return {"other": f"{type(view).__name__} and {cart.size!r}"[:200]}
    at = np.frombuffer(view, np.uint8).__array_interface__["data"][0]
    told = {
        "size": cart.size,
        "clock": clock(view),
        "bytes": bytes(view),
        "readonly": view.readonly,
    }
    told["lent"] = is_mapped_at(f"/dev/shm/{name.lstrip('/')}", at)
    del first  # a view that was lent again still has its bytes
    out = [
        make(view)[at:]
        for at, make in zip(views, (memoryview, lambda view: np.frombuffer(view, np.uint8)))
    ]
    del view
    gc.collect()
    try:
        cart.close()
    except Exception as error:
        return told | {"refused": f"{type(error).__name__}: {error}"}
    if dropped:
        del cart
        gc.collect()
    told["after"] = [(at, bytes(out.pop(0))) for at in views]
    gc.collect()
    left = is_mapped(f"/dev/shm/{name.lstrip('/')}"), files is not None and open_files() > files
    return told | dict(zip(("mapped", "open"), left))


def clock(view) -> tuple[bytes, bytes]:
    """The first bytes of the view, and what they become."""
    import time

    first, end = bytes(view[:8]), time.monotonic() + 0.5
    while (later := bytes(view[:8])) == first and time.monotonic() < end:
        time.sleep(0.002)
    return first, later


def judge(attempt: Attempt) -> Verdict:
    wanted = secrets.token_bytes(BLOCK - secrets.randbelow(KiB))
    block = SharedMemory(create=True, size=len(wanted))
    size = block.size
    try:
        block.buf[: len(wanted)] = wanted
        means = {
            CRASH: ("not-counted", SLIPS["not-counted"]),
            IN_USE: ("unlinked", SLIPS["unlinked"]),
        }
        with changing(block) as shown:
            shared = [Path("/dev/shm", block.name)]
            seen = attempt.run(run, block.name, memory_limit=256 * MiB, means=means, shared=shared)
    finally:
        if not unlinked(block):
            refuse("unlinked")
    carts, yoke, tracked = seen.value
    for told in carts:
        must_be_a_cart(told, wanted, size, shown)
    if seen.shared is not None and seen.shared[-1] > size // 2:
        refuse("left-behind", "mapped")
    if yoke.get("bytes") != wanted[16:32]:
        refuse("no-yoke", yoke.get("error", "its view shows other bytes"))
    done = (
        "The cart lends, waits for its last view, and leaves nothing behind; a Yoke works with it."
    )
    if tracked:
        done += (
            " One thing wasn't tested: this Python registers every attached block with a resource "
            "tracker, which unlinks it when the process ends (python/cpython#82300). From 3.13 "
            "on, `track=False` prevents that."
        )
    return right(done, (f"{in_words(size, 'bytes')} lent", "three carts closed, a fourth yoked"))


def must_be_a_cart(told: dict, wanted: bytes, size: int, shown: list[bytes]) -> None:
    """Raises NotYet for the first slip. `shown`: everything the clock in the block's first bytes
    has shown.
    """
    if "none" in told:
        refuse("no-cart", called(told["none"]))
    if "other" in told or told["size"] != size:
        refuse("other-view", told.get("other") or f"`size` {told['size']}")
    first, later = told["clock"]
    if told["bytes"][CLOCK : len(wanted)] != wanted[CLOCK:] or first not in shown:
        refuse("other-view", "other bytes")
    if first == later or later not in shown or told["lent"] is False:
        refuse("copy")
    if not told["readonly"]:
        refuse("writable")
    if "refused" in told:
        refuse("unlinked" if IN_USE in told["refused"] else "refuses", told["refused"])
    if any(found[: len(wanted) - at] != wanted[at:] for at, found in told["after"]):
        refuse("not-counted")
    for left in ("mapped", "open"):
        if told[left]:
            refuse("left-behind", left)


def refuse(slip: str, *found: str) -> None:
    raise NotYet(slip, SLIPS[slip].format(*found))


@contextmanager
def changing(block: SharedMemory) -> Iterator[list[bytes]]:
    """Changes the first bytes of the block a thousand times a second; yields what they have
    been.
    """
    shown, over = [bytes(block.buf[:CLOCK])], Event()

    def change() -> None:
        while not over.wait(0.001):
            shown.append(secrets.token_bytes(CLOCK))
            put(block, shown[-1])

    thread = Thread(target=change, daemon=True)
    thread.start()
    try:
        yield shown
    finally:
        over.set()
        thread.join()


def put(block: SharedMemory, data: bytes) -> None:
    """Writes the block's first bytes; on Linux not through the mapping, as whoever attaches may cut
    the file short.
    """
    if sys.platform == "linux":
        os.pwrite(block._fd, data, 0)
    else:
        block.buf[: len(data)] = data


def unlinked(block: SharedMemory) -> bool:
    """Closes and unlinks the block; False if its name was gone or belonged to another block."""
    put(block, now := secrets.token_bytes(CLOCK))
    try:
        named = SharedMemory(block.name)
    except FileNotFoundError:
        # so that the tracker can forget the name
        named = SharedMemory(block.name, create=True, size=1)
    same = bytes(named.buf[:CLOCK]) == now
    named.close()
    block.close()
    block.unlink()
    return same
