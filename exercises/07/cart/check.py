"""07.cart: lends the block's own bytes, read-only; gives them up at once, or with the last view; never unlinks."""

import secrets
from multiprocessing.shared_memory import SharedMemory

from helpers.teach.inside import is_mapped, open_files
from helpers.teach.judging import CRASH, Attempt, NotYet, Verdict, called, right
from helpers.units import KiB, MiB, in_words

BLOCK = 64 * KiB
SLIPS = {
    "no-cart": "it returned {}. A cart has `lend()`, `close()` and `size`.",
    "other-view": "expected a memoryview of the block's bytes from `lend()`, and their number as `size`; got {}.",
    "copy": "a byte of the block was changed from outside, and the view that you lent didn't show it. It shows a copy.",
    "writable": "whoever borrows the view can write to it. `memoryview.toreadonly()` makes one that can only be read.",
    "refuses": "`close()` raised {}. A cart may not refuse: it gives the bytes up at once, or when the last view goes.",
    "not-counted": "a view was out when the cart was closed, and the block went from under it: reading the view ended "
    "the process, or gave other bytes. The views that you lend are not counted, so `close()` could not know.",
    "left-behind": "the cart is closed and no view is out, but the block is still {}. What of yours runs when the last "
    "view goes? A slice, or an array made from your view, is a view as well. (A `SharedMemory.close()` that raises "
    "BufferError has released its `buf` and still maps the block: call it after the last view, not before.)",
    "no-yoke": "a Yoke could not use it: {}.",
}


def run(function, name: str, wanted: bytes, size: int) -> tuple:
    """The first slip, a key of SLIPS, with what belongs into its text; or None, and whether the block was signed up
    with the resource tracker. `wanted` is what the block of `size` bytes holds.

    No tracker is started: what would be said to it is noted instead, so that none can unlink the block when this
    process ends. No traceback is printed where a finalizer cannot close.
    """
    import gc
    import sys
    from multiprocessing import resource_tracker

    import numpy as np

    signed_up = set()

    def unraisable(one, otherwise=sys.__unraisablehook__):
        if one.exc_type is not BufferError:
            otherwise(one)

    resource_tracker.ResourceTracker._send = lambda _, command, name, kind: signed_up.add(command)
    sys.unraisablehook = unraisable
    files = open_files()
    for life in ("no view out", "cart kept", "cart dropped"):
        signed_up.clear()
        cart = function(name)
        tracked = signed_up == {"REGISTER"}  # not signed off again
        if slip := lent_wrong(cart, name, wanted, size):
            return slip
        first, view = cart.lend(), cart.lend()
        del first  # what was lent once more still has its bytes
        views = {} if life == "no view out" else {16: view[16:], 32: np.frombuffer(view, np.uint8)[32:]}
        del view
        gc.collect()
        try:
            cart.close()
        except Exception as error:
            return "refuses", f"{type(error).__name__}: {error}"
        if life == "cart dropped":
            del cart
            gc.collect()
        for at in list(views):
            if bytes(views.pop(at)[: len(wanted) - at]) != wanted[at:]:
                return ("not-counted",)
        gc.collect()
        if is_mapped(f"/dev/shm/{name.lstrip('/')}"):
            return "left-behind", "mapped"
        if files is not None and open_files() > files:
            return "left-behind", "open"

    from helpers.ideas.yoke import Yoke  # here, when nothing of the student's is measured any more

    try:
        with Yoke.attach(function(name), lambda view: view[16:32]) as yoked:
            return (None, tracked) if bytes(yoked) == wanted[16:32] else ("no-yoke", "its view shows other bytes")
    except Exception as error:
        return "no-yoke", f"{type(error).__name__}: {error}"


def lent_wrong(cart, name: str, wanted: bytes, size: int) -> tuple:
    """What is wrong with the first view that the cart lends; () if nothing is."""
    from multiprocessing.shared_memory import SharedMemory

    if not all(hasattr(cart, each) for each in ("lend", "close", "size")):
        return "no-cart", type(cart).__name__
    view = cart.lend()
    if type(view) is not memoryview or type(cart.size) is not int or cart.size != size:
        return "other-view", f"{type(view).__name__} and {cart.size!r}"
    if view.nbytes < len(wanted) or bytes(view[: len(wanted)]) != wanted:
        return "other-view", "other bytes"
    other = SharedMemory(name)
    other.buf[9] ^= 255
    sees = view[9] == wanted[9] ^ 255
    other.buf[9] ^= 255
    other.close()
    if not sees:
        return ("copy",)
    return () if view.readonly else ("writable",)


def judge(attempt: Attempt) -> Verdict:
    wanted = secrets.token_bytes(BLOCK - secrets.randbelow(KiB))
    block = SharedMemory(create=True, size=len(wanted))
    size = block.size
    try:
        block.buf[: len(wanted)] = wanted
        means = {CRASH: ("not-counted", SLIPS["not-counted"])}
        cause, *found = attempt.run(run, block.name, wanted, size, memory_limit=256 * MiB, means=means).value
    finally:
        block.close()
        if not unlinked(block):
            why = "the block is gone: your cart has unlinked it. It only attached; whoever made a block unlinks it."
            raise NotYet("unlinked", why)
    if cause == "no-cart":
        found = [called(found[0])]
    if cause:
        raise NotYet(cause, SLIPS[cause].format(*found))
    done = "The cart lends, waits for its last view, and leaves nothing behind; a Yoke runs on it."
    if found[0]:
        done += (
            " One thing was not asked: this Python signs up every block that is attached with a resource tracker, "
            "which unlinks it when the process ends (python/cpython#82300). From 3.13 on, `track=False` prevents that."
        )
    return right(done, (f"{in_words(size, 'bytes')} lent", "three carts closed, and one yoked"))


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
