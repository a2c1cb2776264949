# expect: wrong-taken
def explain(report):
    from math import prod

    size = {"int32": 4, "float32": 4, "float64": 8}
    taken = 0 if report["shares_memory"] else prod(report["shape"][1]) * size[report["dtype"][1]]
    for word, what in (("dtype", "dtype"), ("fancy", "shape"), ("layout", "strides")):
        if taken and report[what][0] != report[what][1]:
            return taken, word
    return taken, "values" if taken else "view"
