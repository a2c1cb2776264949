def explain(report):
    import numpy as np

    names = ["RssFile:", "RssAnon:", "RssShmem:"]
    size = dict(line.split()[:2] for line in report.splitlines() if line.startswith(tuple(names)))
    lent, anonymous, shared = np.array([size[name] for name in names], dtype=np.int64) * 1024
    own = anonymous + shared
    share = lent / (lent + own)
    return (
        lent,
        own,
        np.select([share >= 0.75, share <= 0.25], ["page cache", "own memory"], "both")[()],
    )
