"""What the kernel says: can this be mapped?"""

import mmap

from ...libc import map_pages, unmap_pages


def map_a_page(descriptor: int) -> None:
    """Maps the first page of what is open as `descriptor`, for reading, and unmaps it again,
    untouched. mmap(2), munmap(2). OSError if the kernel refuses: ENODEV where there are no pages to
    map, EACCES without the right to read.
    """
    unmap_pages(
        map_pages(mmap.PAGESIZE, mmap.PROT_READ, mmap.MAP_PRIVATE, descriptor), mmap.PAGESIZE
    )
