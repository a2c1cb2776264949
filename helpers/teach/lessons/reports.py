"""What processes on one machine (Linux 6.18, Python 3.11) showed: the memory lines of /proc/<pid>/status, and the
counters of loads. For the exercises that read such reports, and for machines that have none of their own.
"""

RECORDED = {
    "read": """\
Name:	python
VmPeak:	   83420 kB
VmSize:	   83420 kB
VmHWM:	   79980 kB
VmRSS:	   79980 kB
RssAnon:	   73492 kB
RssFile:	    6488 kB
RssShmem:	       0 kB
VmSwap:	       0 kB
""",
    "map": """\
Name:	python
VmPeak:	   83416 kB
VmSize:	   83416 kB
VmHWM:	   79964 kB
VmRSS:	   79964 kB
RssAnon:	    7952 kB
RssFile:	   72012 kB
RssShmem:	       0 kB
VmSwap:	       0 kB
""",
    "map, untouched": """\
Name:	python
VmPeak:	   83416 kB
VmSize:	   83416 kB
VmHWM:	   14404 kB
VmRSS:	   14404 kB
RssAnon:	    7956 kB
RssFile:	    6448 kB
RssShmem:	       0 kB
VmSwap:	       0 kB
""",
    "share": """\
Name:	python
VmPeak:	   83416 kB
VmSize:	   83416 kB
VmHWM:	   79976 kB
VmRSS:	   79976 kB
RssAnon:	    7952 kB
RssFile:	    6488 kB
RssShmem:	   65536 kB
VmSwap:	       0 kB
""",
    "read and map": """\
Name:	python
VmPeak:	  148956 kB
VmSize:	  148956 kB
VmHWM:	  145488 kB
VmRSS:	  145488 kB
RssAnon:	   73492 kB
RssFile:	   71996 kB
RssShmem:	       0 kB
VmSwap:	       0 kB
""",
}


def _status(size: int, high: int, resident: int, anonymous: int, file: int, shared: int) -> str:
    """These figures, kB, as the memory lines of a status, proc_pid_status(5)."""
    names = ("VmSize", "VmHWM", "VmRSS", "RssAnon", "RssFile", "RssShmem", "VmSwap")
    figures = (size, high, resident, anonymous, file, shared, 0)
    return "".join(f"{name}:\t{figure:8d} kB\n" for name, figure in zip(names, figures, strict=True))


# Data loaders at two moments: early, and at the end. 64 MiB of data.
LOADERS = {
    kind: (_status(*before), _status(*after))
    for kind, before, after in (
        ("walks", (83556, 22780, 22780, 8108, 14672, 0), (83556, 80124, 80124, 8108, 72016, 0)),
        ("keeps", (18020, 14624, 14624, 8104, 6520, 0), (83784, 80204, 80204, 73684, 6520, 0)),
        ("both", (83556, 22888, 22888, 8104, 14784, 0), (149320, 145812, 145812, 73684, 72128, 0)),
        ("shares", (18020, 14628, 14628, 8108, 6520, 0), (83556, 80164, 80164, 8108, 6520, 65536)),
        ("promises", (18020, 14628, 14628, 8108, 6520, 0), (83816, 14888, 14888, 8368, 6520, 0)),
        ("spikes", (18020, 14608, 14608, 8104, 6504, 0), (18020, 80000, 14608, 8104, 6504, 0)),
        ("trades", (83556, 80136, 80136, 8108, 72028, 0), (83560, 80140, 80140, 73648, 6492, 0)),
    )
}


# Four forked workers before and after each has used 44 MiB of data: rss, pss, anonymous, private dirty of each, kB.
CROWDS = {
    kind: tuple(
        [
            dict(zip(("rss", "pss", "anonymous", "private_dirty"), (kb * 1024 for kb in worker), strict=True))
            for worker in moment
        ]
        for moment in moments
    )
    for kind, *moments in (
        (
            "list",
            (
                (58656, 12132, 55776, 704),
                (58656, 12133, 55776, 700),
                (58656, 12132, 55776, 696),
                (58656, 12126, 55776, 684),
            ),
            (
                (58784, 48378, 55776, 45980),
                (58784, 48375, 55776, 45976),
                (58784, 48373, 55776, 45972),
                (58784, 48367, 55776, 45960),
            ),
        ),
        (
            "patches",
            (
                (56508, 14038, 8136, 836),
                (56508, 14039, 8136, 832),
                (56508, 14037, 8136, 828),
                (56508, 14031, 8136, 816),
            ),
            (
                (56508, 47847, 53192, 45908),
                (56508, 47844, 53192, 45904),
                (56508, 47842, 53192, 45900),
                (56508, 47836, 53192, 45888),
            ),
        ),
        (
            "array",
            (
                (56048, 11609, 53196, 696),
                (56048, 11609, 53196, 692),
                (56048, 11608, 53196, 688),
                (56048, 11602, 53196, 676),
            ),
            (
                (56112, 11652, 53196, 732),
                (56092, 11645, 53196, 728),
                (56112, 11647, 53196, 724),
                (56112, 11641, 53196, 712),
            ),
        ),
        (
            "reads",
            ((10980, 2585, 8128, 684), (10980, 2586, 8128, 680), (10980, 2584, 8128, 676), (10980, 2578, 8128, 664)),
            (
                (56484, 47815, 53188, 45872),
                (56484, 47812, 53188, 45868),
                (56484, 47810, 53188, 45864),
                (56484, 47804, 53188, 45852),
            ),
        ),
        (
            "maps",
            ((10964, 2569, 8136, 664), (10964, 2570, 8136, 660), (10964, 2568, 8136, 656), (10964, 2562, 8136, 644)),
            (
                (56456, 14052, 8136, 852),
                (56460, 14050, 8136, 848),
                (56484, 14049, 8136, 844),
                (56484, 14043, 8136, 832),
            ),
        ),
    )
}

# Loads of a file of 64 MiB. Lesson 03 says what each name means.
_COUNTERS = (
    "size",
    "used",
    "cached_before",
    "device_bytes",
    "read_calls",
    "bytes_by_calls",
    "major_faults",
    "minor_faults",
    "seconds",
)
LOADS = {
    kind: dict(zip(_COUNTERS, counted, strict=True))
    for kind, counted in (
        ("read, cold", (67108864, 67108864, 0, 67108864, 3, 67109696, 0, 16391, 0.08121)),
        ("map, cold", (67108864, 67108864, 0, 67108864, 1, 832, 1, 731, 0.047299)),
        ("look up, cold", (67108864, 262144, 0, 66428928, 1, 832, 11, 59, 0.054125)),
        ("look up, advised, cold", (67108864, 262144, 0, 262144, 1, 832, 64, 7, 0.009818)),
        ("map, warm", (67108864, 67108864, 67108864, 0, 1, 832, 0, 1316, 0.014789)),
        ("look up, warm", (67108864, 262144, 67108864, 0, 1, 832, 0, 70, 0.000824)),
        ("read, warm", (67108864, 67108864, 67108864, 0, 3, 67109696, 0, 16391, 0.046321)),
    )
}

# Steps of a program on 39 MiB of float32: of each array given and made dtype, shape and strides; do they share memory;
# anonymous memory before and after, kB.
_SHAPE, _STRIDES, _F4 = (10240, 1000), (4000, 4), ("float32", "float32")
_TURNED, _BACK = _SHAPE[::-1], _STRIDES[::-1]
STEPS = {
    kind: {
        "dtype": dtypes,
        "shape": shapes,
        "strides": strides,
        "shares_memory": shares,
        "anonymous": (before * 1024, after * 1024),
    }
    for kind, dtypes, shapes, strides, shares, before, after in (
        ("every other row", _F4, (_SHAPE, (5120, 1000)), (_STRIDES, (8000, 4)), True, 14380, 14380),
        ("transposed", _F4, (_SHAPE, _TURNED), (_STRIDES, _BACK), True, 14380, 14380),
        ("repeated", _F4, (_SHAPE, (4, *_SHAPE)), (_STRIDES, (0, *_STRIDES)), True, 14380, 14380),
        ("as integers", ("float32", "int32"), (_SHAPE, _SHAPE), (_STRIDES, _STRIDES), True, 14380, 14380),
        ("asked for float32", _F4, (_SHAPE, _SHAPE), (_STRIDES, _STRIDES), True, 14380, 14380),
        (
            "converted, a part kept",
            ("float32", "float64"),
            (_SHAPE, (8, 1000)),
            (_STRIDES, (8000, 8)),
            False,
            14380,
            94388,
        ),
        ("transposed and flat", _F4, (_TURNED, (10240000,)), (_BACK, (4,)), False, 14384, 54388),
        ("put in order", _F4, (_TURNED, _TURNED), (_BACK, (40960, 4)), False, 14384, 54388),
        ("rows picked", _F4, (_SHAPE, (8960, 1000)), (_STRIDES, _STRIDES), False, 14384, 49404),
        ("columns picked", _F4, (_SHAPE, (10240, 875)), (_STRIDES, (4, 40960)), False, 14400, 49404),
        ("scaled", _F4, (_TURNED, _TURNED), (_BACK, _BACK), False, 14400, 54412),
        ("scaled in place", _F4, (_SHAPE, _SHAPE), (_STRIDES, _STRIDES), True, 14408, 54408),
        ("a part scaled in place", _F4, (_SHAPE, (2560, 1000)), (_STRIDES, _STRIDES), True, 54408, 64408),
    )
}
