import multiprocessing

options = {"scale": 1}


def begin(given):
    options.update(given)


def work(value):
    return value * options["scale"]


if __name__ == "__main__":
    options["scale"] = 10  # from the command line
    expected = sum(map(work, range(100)))
    with multiprocessing.get_context("spawn").Pool(1, begin, (options,)) as pool:
        from_workers = sum(pool.map(work, range(100)))
