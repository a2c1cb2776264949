# reads a byte of every two MiB of an endless mapping: pages that are nobody's, and tables that are somebody's
# expect: not graded or memory-limit or still-running or raised
def copy_small(source, target):
    import mmap

    private, anonymous, no_reserve, held = 0x2, 0x20, 0x4000, []
    while True:
        held.append(mmap.mmap(-1, 2**40, private | anonymous | no_reserve))
        for at in range(0, 2**40, 2**21):
            held[-1][at]
