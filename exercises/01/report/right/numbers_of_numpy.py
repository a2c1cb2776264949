def verdict(before, after):
    import numpy as np

    names = ("RssFile:", "RssAnon:", "RssShmem:")
    before, after = (
        np.array(
            [
                int(line.split()[1])
                for name in names
                for line in text.splitlines()
                if line.startswith(name)
            ]
        )
        for text in (before, after)
    )
    lent, anonymous, shared = (after - before) * 1024
    own = anonymous + shared
    return (
        lent,
        own,
        np.array([["neither", "leak"], ["lent", "both"]])[int(lent > 2**20), int(own > 2**20)],
    )
