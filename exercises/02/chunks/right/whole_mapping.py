def copy_small(source, target):
    import mmap

    with (
        open(source, "rb") as f,
        open(target, "wb") as g,
        mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as m,
    ):
        g.write(m)
