"""What runs around a student's function in lesson 07, and the processes of 07.report."""

from . import mapping_under, open_files, some


def handed_out(function, path, offset: int, count: int, numpy_is_here) -> dict:
    """What the function returned, as seen when every other name is gone: type, dtype, shape, sum, up to 64 numbers.

    Then somebody closes the mapping behind it: `counted` tells whether that was refused, None if no mapping was found.
    At last the array goes, too: `mapped` tells whether the file is still mapped, `files` how many more are open; None
    where proc_pid_maps(5) is not there. Loading the last argument, a number of numpy's, has loaded numpy.
    """
    import gc

    before = open_files()
    array = function(path, offset, count)
    told = {"type": type(array).__name__, "dtype": None, "lent": False, "counted": None, "mapped": None, "files": None}
    if not (hasattr(array, "dtype") and hasattr(array, "ravel")):
        return told
    gc.collect()
    told |= {"dtype": str(array.dtype), "shape": tuple(array.shape), "sum": float(array.sum(dtype="f8"))}
    told["some"] = some(array)
    owner = mapping_under(array)
    told["lent"] = owner is not None
    if owner is not None:
        try:
            owner.close()
            told["counted"] = False  # from here on the array must not be read
        except BufferError:
            told["counted"] = True
    del array, owner
    gc.collect()
    if before is not None:
        told |= {"mapped": _is_mapped(path), "files": open_files() - before}
    return told


def lent(function, name: str, wanted: bytes) -> dict:
    """What the cart that the function makes for a shared memory block does, in four lives of a cart; each begins only
    if the one before it was as it should be. `wanted` is what the block holds.

    No resource tracker is started: what would be said to it is noted instead, so that none can unlink the block when
    this process ends. `tracked` tells whether it would have. `halves` tells whether SharedMemory.close raised
    BufferError and had released its `buf` before: then it keeps the mapping and the file descriptor. Where nobody can
    catch that error, in a finalizer, no traceback is printed.
    """
    import gc
    import sys
    from multiprocessing import resource_tracker
    from multiprocessing.shared_memory import SharedMemory

    import numpy as np

    signed_up: set = set()

    def noted(_, command, name, kind):
        (signed_up.add if command == "REGISTER" else signed_up.discard)(name)

    resource_tracker.ResourceTracker._send = noted
    halves: list = []
    close = SharedMemory.close

    def closes_or_notes(memory):
        try:
            close(memory)
        except BufferError:
            halves.append(memory._buf is None)
            raise

    def unraisable(one, otherwise=sys.__unraisablehook__):
        if one.exc_type is not BufferError:
            otherwise(one)

    SharedMemory.close, sys.unraisablehook = closes_or_notes, unraisable

    def left():
        gc.collect()
        return None if before is None else (_is_mapped(name.lstrip("/")), open_files() - before)

    def closes(cart):
        try:
            cart.close()
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return None

    before = open_files()
    cart = function(name)
    told = {"type": type(cart).__name__, "tracked": bool(signed_up)}
    told["missing"] = [one for one in ("lend", "close", "size") if not hasattr(cart, one)]
    if told["missing"]:
        return told
    view = cart.lend()
    told |= {"size": cart.size if type(cart.size) is int else repr(cart.size), "kind": type(view).__name__}
    if type(view) is not memoryview:
        return told
    told |= {"read_only": view.readonly, "same": view.nbytes >= len(wanted) and bytes(view[: len(wanted)]) == wanted}
    other = SharedMemory(name)
    other.buf[9] ^= 255
    told["sees"] = told["same"] and view[9] == wanted[9] ^ 255
    other.buf[9] ^= 255
    other.close()
    if not (told["read_only"] and told["sees"]):
        return told

    del view
    told |= {"closing": closes(cart), "left": left()}
    if told["closing"] or told["left"] not in (None, (False, 0)):
        return told

    for life in ("kept", "dropped"):  # closed while views are out: the cart is kept, or goes before they do
        cart = function(name)
        first, view = cart.lend(), cart.lend()
        del first  # what was lent once more still has its bytes
        gc.collect()
        part, rows = view[16:], np.frombuffer(view, np.uint8)[32:]
        del view
        halves.clear()
        told |= {"life": life, "closing_late": closes(cart)}
        if told["closing_late"]:
            return told
        if life == "dropped":
            del cart
            gc.collect()
        told["later"] = bytes(part[: len(wanted) - 16]) == wanted[16:] and rows[0] == wanted[32]
        del part
        told["later"] = told["later"] and bytes(rows[:8]) == wanted[32:40]
        del rows
        told |= {"left_late": left(), "halves": any(halves)}
        if not told["later"] or told["left_late"] not in (None, (False, 0)):
            return told

    from helpers.ideas.yoke import Yoke  # here, when nothing of the student's is measured any more

    try:
        with Yoke.attach(function(name), lambda view: view[16:32]) as yoked:
            told["yoked"] = bytes(yoked) == wanted[16:32]
    except Exception as error:
        told["yoked"] = f"{type(error).__name__}: {error}"
    return told


def happened(cases: list[tuple], path: str) -> list[tuple]:
    """What really happens at the last step of each case, as 07.report asks for it: each try has a process, a fork.

    Who holds the bytes is found by trial: with that name alone, and all others dropped, is the last step still refused?
    Who dangles, by reading through it afterwards. wait(2) tells of the signal.
    """
    import mmap
    import os

    import numpy as np

    def do(space, what, name, source):
        if what == "mmap":
            with open(path, "rb") as file:
                space[name] = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        elif what == "bytearray":
            space[name] = bytearray(4096)
        elif what == "memoryview":
            space[name] = memoryview(space[source])
        elif what == "frombuffer":
            space[name] = np.frombuffer(space[source], np.uint8)
        elif what == "ndarray":
            space[name] = np.ndarray(len(space[source]), np.uint8, space[source])
        elif what == "slice":
            space[name] = space[source][1:]
        elif what == "copy":
            space[name] = bytes(space[source])
        elif what == "name":
            space[name] = space[source]
        elif what == "release":
            space[name].release()
        elif what == "del":
            del space[name]
        elif what == "close":
            space[name].close()
        elif what == "append":
            space[name].append(1)
        elif what == "write":
            space[name][0] = 1
        else:
            raise ValueError(f"no step {what!r}")

    def names(steps):
        space = {}
        for step in steps[:-1]:
            do(space, *step)
        return [name for name, value in space.items() if not isinstance(value, mmap.mmap | bytearray)]

    def end(steps, drop=(), read=None):
        pid = os.fork()
        if pid:
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        code = 3
        try:
            space = {}
            for step in steps[:-1]:
                do(space, *step)
            for name in drop:
                del space[name]
            try:
                do(space, *steps[-1])
                code = 0
            except BufferError:
                code = 1
            if read:
                bytes(space[read])
        finally:
            os._exit(code)

    found = []
    for steps in cases:
        views = names(steps)
        code = end(steps)
        if code not in (0, 1):
            raise OSError(f"the steps {steps} ended with {code}, before any view was read")
        if code == 1:
            who = [one for one in views if end(steps, drop=[other for other in views if other != one]) == 1]
            found.append(("BufferError", *who))
        else:
            who = [one for one in views if end(steps, read=one) < 0]
            found.append(("crash", *who) if who else ("done",))
    return found


def _is_mapped(part: str) -> bool:
    """Does this process map a file with that in its path? proc_pid_maps(5)."""
    with open("/proc/self/maps") as file:
        return any(str(part) in line for line in file)
