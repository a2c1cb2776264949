def call_through(address, x):
    import ctypes
    import struct

    data, table = struct.unpack("2Q", ctypes.string_at(address, 16))
    _, size, _, infer = struct.unpack("4Q", ctypes.string_at(table, 32))
    return size, ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_double)(infer)(data, x)
