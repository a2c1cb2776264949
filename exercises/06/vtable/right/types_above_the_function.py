from ctypes import CFUNCTYPE, POINTER, Structure, c_double, c_size_t, c_void_p

INFER = CFUNCTYPE(c_double, c_void_p, c_double)
WORDS = c_size_t * 2


class Table(Structure):
    _fields_ = (("drop", c_void_p), ("size", c_size_t), ("align", c_size_t), ("infer", INFER))


class Fat(Structure):
    _fields_ = (("data", c_void_p), ("table", POINTER(Table)))


def call_through(address, x):
    data, table = WORDS.from_address(address)
    assert table == c_void_p.from_buffer(Fat.from_address(address).table).value
    table = Table.from_address(table)
    return table.size, table.infer(data, x)
