def explain(report):
    import numpy as np

    taken = np.diff(report["anonymous"])[0]
    different = [
        taken < 2**20,
        report["shares_memory"],
        np.dtype(report["dtype"][0]) != np.dtype(report["dtype"][1]),
        np.prod(report["shape"][0]) != np.prod(report["shape"][1]),
        report["strides"][0] != report["strides"][1],
        True,
    ]
    return taken, np.array(["view", "write", "dtype", "fancy", "layout", "values"])[
        np.argmax(different)
    ]
