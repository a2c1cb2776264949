"""Lesson 01: what the answers of its quizzes are, found by measuring."""

from pathlib import Path

from helpers.measure import PageState, maps, measure
from helpers.teach.judging import on_a_file

MINE = (PageState.ANONYMOUS, PageState.FORKED, PageState.SWAPPED)


@on_a_file
def page_by_page(path: Path) -> int | None:
    """1 if all bytes of a page that is there cost no page fault, and touching other pages does."""

    def count_faults(path):
        import mmap
        import resource

        def faults_of(places):
            def so_far():
                usage = resource.getrusage(resource.RUSAGE_SELF)
                return usage.ru_minflt + usage.ru_majflt

            before = so_far()
            for at in places:
                mapping[at]
            return so_far() - before

        page = mmap.PAGESIZE
        with (
            open(path, "rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping,
        ):
            middle = len(mapping) // 2
            faults_of(range(0, 8 * page))  # what the loop itself needs is there now
            first = faults_of([middle])
            return (
                first,
                faults_of(range(middle, middle + page)),
                faults_of(range(0, len(mapping), page)),
            )

    if maps.why_not():
        return None
    first, rest, others = measure(count_faults, path).value
    return 1 if first >= 1 and rest < others / 4 else 0


@on_a_file
def taken(path: Path) -> int | None:
    """2 if paging out takes pages of a file that were only read, and none that were written."""

    def page_out(path):
        import mmap

        from helpers.measure.pages import page_map

        with (
            open(path, "rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as mapping,
        ):
            for at in range(0, len(mapping), mmap.PAGESIZE):
                mapping[at]
            for at in range(0, len(mapping) // 2, mmap.PAGESIZE):
                mapping[at] |= 0
            moments = [page_map(mapping).counts]
            mapping.madvise(21)  # MADV_PAGEOUT, Linux 5.4
            moments.append(page_map(mapping).counts)
            return [{int(state): count for state, count in one.items()} for one in moments]

    if maps.why_not():
        return None
    run = measure(page_out, path)
    if run.ended != "returned":  # an older kernel
        return None
    (lent, mine), (lent_left, mine_left) = (
        (found.get(PageState.FILE, 0), sum(found.get(state, 0) for state in MINE))
        for found in run.value
    )
    return 2 if lent_left < lent / 2 and mine_left == mine else 0


@on_a_file
def twins(path: Path) -> int | None:
    """0 if RSS, PSS and USS gain the same by a read as by a touched mapping, and anonymous memory
    tells them apart.
    """

    def gain(path, map_it):
        import mmap
        import re

        def rollup():
            with open("/proc/self/smaps_rollup") as file:
                found = {
                    name: int(n) * 1024 for name, n in re.findall(r"(\w+):\s+(\d+) kB", file.read())
                }
            unique = found["Private_Clean"] + found["Private_Dirty"]
            return found["Rss"], found["Pss"], unique, found["Anonymous"]

        rollup()
        before = rollup()
        with open(path, "rb") as file:
            if map_it:
                held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                sum(held[at] for at in range(0, len(held), mmap.PAGESIZE))
            else:
                held = file.read()
            return [now - then for now, then in zip(rollup(), before, strict=True)]

    if maps.why_not() or not Path("/proc/self/smaps_rollup").exists():  # Linux 4.14
        return None
    size = path.stat().st_size
    read, mapped = (measure(gain, path, map_it).value for map_it in (False, True))
    alike = all(0.9 < gained / size < 1.1 for gained in (*read[:3], *mapped[:3]))
    return 0 if alike and read[3] > 0.9 * size > 0.1 * size > mapped[3] else 1
