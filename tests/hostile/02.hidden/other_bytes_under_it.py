# a real bytearray whose pointer is turned to a mapping of the file
import ctypes
import mmap
import os


def load(path):
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    data = bytearray(8)
    # count, type, size, allocated, bytes, start
    header = (ctypes.c_ssize_t * 6).from_address(id(data))
    address = ctypes.addressof(ctypes.c_char.from_buffer(mapping))
    load.kept = mapping
    header[2], header[3], header[4], header[5] = size, size + 1, address, address
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(data))  # nobody may give that memory back
    return data
