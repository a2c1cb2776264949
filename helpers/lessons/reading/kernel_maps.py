"""Ask the kernel itself whether something can be mapped: mmap(2), without the checks that Python's mmap makes first."""

import mmap

from ...libc import map_pages, unmap_pages


def map_a_page(descriptor: int) -> None:
    """Maps the first page of what is open as `descriptor`, for reading, and unmaps it again. mmap(2), munmap(2).

    Nothing is touched: the kernel maps even a page past a file's end, and touching that would be SIGBUS. OSError if the
    kernel refuses: ENODEV where there are no pages to map, EACCES without the right to read.
    """
    unmap_pages(map_pages(mmap.PAGESIZE, mmap.PROT_READ, mmap.MAP_PRIVATE, descriptor), mmap.PAGESIZE)
