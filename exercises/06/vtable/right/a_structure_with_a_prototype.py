def call_through(address, x):
    import ctypes
    from ctypes import c_double, c_size_t, c_void_p

    class Table(ctypes.Structure):
        _fields_ = (
            ("drop", c_void_p),
            ("size", c_size_t),
            ("align", c_size_t),
            ("infer", ctypes.CFUNCTYPE(c_double, c_void_p, c_double)),
        )

    class Fat(ctypes.Structure):
        _fields_ = (("data", c_void_p), ("table", ctypes.POINTER(Table)))

    fat = Fat.from_address(address)
    table = fat.table.contents
    return table.size, table.infer(fat.data, x)
