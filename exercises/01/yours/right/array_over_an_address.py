# on: linux
def yours(path, pages):
    import ctypes
    import mmap

    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
    size = path.stat().st_size
    with path.open("rb") as file:
        address = libc.mmap(
            None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE, file.fileno(), 0
        )
    array = (ctypes.c_ubyte * size).from_address(address)
    for page in pages:
        array[page * mmap.PAGESIZE] ^= 0
    return array
