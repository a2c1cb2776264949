# expect: wrong-call
def call_through(address, x):
    import ctypes

    _, table = (ctypes.c_void_p * 2).from_address(address)
    size = ctypes.c_size_t.from_address(table + 8).value
    infer = ctypes.c_void_p.from_address(table + 24).value
    return size, ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_double)(infer)(
        address, x
    )
