"""07.cart: lends the block's own bytes, read-only; gives them up at once, or with the last view; never unlinks."""

import secrets
from multiprocessing.shared_memory import SharedMemory

from helpers.teach.inside import open_files
from helpers.teach.judging import CRASHED, Attempt, NotYet, Verdict, called, right
from helpers.units import KiB, MiB, in_words

BLOCK = 64 * KiB
SLIPS = {
    "no-cart": "it returned {}. A cart has `lend()`, `close()` and `size`.",
    "no-memoryview": "`lend()` gave {}. A cart lends a memoryview: it has an owner, and can be released.",
    "not-all": "the view that was lent doesn't show the bytes of the block. Does `lend()` show all of it?",
    "wrong-size": "expected `size` to be {1:,}, the bytes of the block; got {0}.",
    "copy": "another process changed a byte of the block, and the view that you had lent did not show it: it shows a "
    "copy. Shared memory is shared only as long as nobody copies it.",
    "writable": "whoever borrows the view can write to it. `memoryview.toreadonly()` makes one that can only be read.",
    "close-failed": "`close()` failed when no view was out: {}.",
    "not-given-up": "no view was out, `close()` was called, and the block is still {}.",
    "refuses": "a view was out, and `close()` raised {}. A cart may not refuse: it gives the bytes up at once, or when "
    "the last view is gone.",
    "view-spoilt": "a view was out when the cart was closed, and then it no longer showed the bytes of the block.",
    "left-behind": "the last view that was out when `close()` was called is gone, and the block is still {}. Who is "
    "told when nobody looks any more? A slice, or an array made from your view, is a view as well. (A "
    "`SharedMemory.close()` that raises BufferError has closed only half of itself: call it after the last view, not "
    "before.)",
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
    from multiprocessing.shared_memory import SharedMemory

    import numpy as np

    signed_up = set()

    def noted(_, command, name, kind):
        (signed_up.add if command == "REGISTER" else signed_up.discard)(name)

    def unraisable(one, otherwise=sys.__unraisablehook__):
        if one.exc_type is not BufferError:
            otherwise(one)

    def left() -> str:
        """What is left of the block: mapped, open, or both; "" where /proc is not there to tell."""
        gc.collect()
        if before is None:
            return ""
        with open("/proc/self/maps") as file:
            mapped = any(name.lstrip("/") in line for line in file)
        return " and ".join(["mapped"] * mapped + ["open: a file descriptor is left"] * (open_files() > before))

    def failed_close(cart) -> str:
        try:
            cart.close()
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return ""

    resource_tracker.ResourceTracker._send = noted
    sys.unraisablehook = unraisable
    before = open_files()
    cart = function(name)
    tracked = bool(signed_up)
    if not all(hasattr(cart, each) for each in ("lend", "close", "size")):
        return "no-cart", type(cart).__name__
    view = cart.lend()
    if type(view) is not memoryview:
        return "no-memoryview", type(view).__name__
    if view.nbytes < len(wanted) or bytes(view[: len(wanted)]) != wanted:
        return ("not-all",)
    if type(cart.size) is not int or cart.size != size:
        return "wrong-size", repr(cart.size), size
    other = SharedMemory(name)
    other.buf[9] ^= 255
    sees = view[9] == wanted[9] ^ 255
    other.buf[9] ^= 255
    other.close()
    if not sees:
        return ("copy",)
    if not view.readonly:
        return ("writable",)

    del view
    if error := failed_close(cart):
        return "close-failed", error
    if still := left():
        return "not-given-up", still

    for life in ("kept", "dropped"):  # closed while views are out: the cart is kept, or goes before they do
        cart = function(name)
        first, view = cart.lend(), cart.lend()
        del first  # what was lent once more still has its bytes
        gc.collect()
        part, rows = view[16:], np.frombuffer(view, np.uint8)[32:]
        del view
        if error := failed_close(cart):
            return "refuses", error
        if life == "dropped":
            del cart
            gc.collect()
        spoilt = bytes(part[: len(wanted) - 16]) != wanted[16:] or rows[0] != wanted[32]
        del part
        spoilt = spoilt or bytes(rows[:8]) != wanted[32:40]
        del rows
        if spoilt:
            return ("view-spoilt",)
        if still := left():
            return "left-behind", still

    from helpers.ideas.yoke import Yoke  # here, when nothing of the student's is measured any more

    try:
        with Yoke.attach(function(name), lambda view: view[16:32]) as yoked:
            if bytes(yoked) != wanted[16:32]:
                return "no-yoke", "its view did not show the bytes of the block"
    except Exception as error:
        return "no-yoke", f"{type(error).__name__}: {error}"
    return None, tracked


def judge(attempt: Attempt) -> Verdict:
    wanted = secrets.token_bytes(BLOCK - secrets.randbelow(KiB))
    block = SharedMemory(create=True, size=len(wanted))
    size = block.size
    try:
        block.buf[: len(wanted)] = wanted
        cause, *found = attempt.run(run, block.name, wanted, size, memory_limit=256 * MiB).value
    except NotYet as slip:
        ended = attempt.recording.ended
        if ended not in CRASHED:
            raise
        why = (
            f"a view was still out when the cart was closed, and when it was read its process was ended ({ended}). The "
            "views that you lend are not counted, so nobody objected when the block was unmapped."
        )
        raise NotYet("not-counted", why) from slip
    finally:
        block.close()
        if not unlinked(block):
            why = "the block is gone: your cart has unlinked it. It only attached; whoever made a block unlinks it."
            raise NotYet("unlinked", why)
    if cause in ("no-cart", "no-memoryview"):
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
