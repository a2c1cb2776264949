def layout(shapes):
    import numpy as np

    lengths = {"Circle": [], "Rectangle": [], "Triangle": []}
    for shape in shapes:
        lengths[type(shape).__name__].append(tuple(vars(shape).values()))
    circles, rectangles, triangles = (
        np.array(each, float).reshape(-1, n).T.copy()
        for each, n in zip(lengths.values(), (1, 2, 2), strict=True)
    )

    def total(cut):
        (r,), (w, h), (b, g) = (
            np.maximum(each - cut, 0) for each in (circles, rectangles, triangles)
        )
        return np.pi * (r**2).sum() + (w * h).sum() + (b * g).sum() / 2

    return total
