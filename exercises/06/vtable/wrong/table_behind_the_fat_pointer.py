# expect: one-hop
def call_through(address, x):
    import ctypes

    data = ctypes.c_void_p.from_address(address).value
    size = ctypes.c_size_t.from_address(address + 8).value
    infer = ctypes.c_void_p.from_address(address + 24).value
    return size, ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_double)(infer)(data, x)
