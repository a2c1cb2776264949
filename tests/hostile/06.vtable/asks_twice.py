# It tries every word of the table as a function, until one returns a number.
import ctypes


def call_through(address, x):
    data, table = (ctypes.c_size_t * 2).from_address(address)
    words = (ctypes.c_size_t * 4).from_address(table)
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_double)
    found = [kind(word)(data, x) for word in words if word > 2**20]
    return words[1], found[-1]
