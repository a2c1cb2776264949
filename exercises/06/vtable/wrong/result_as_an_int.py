# expect: wrong-result
def call_through(address, x):
    import ctypes

    data, table = (ctypes.c_void_p * 2).from_address(address)
    _, size, _, infer = (ctypes.c_size_t * 4).from_address(table)
    return size, ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_double)(infer)(data, x)
