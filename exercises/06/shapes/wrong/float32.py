# expect: short-floats
def layout(shapes):
    import numpy as np

    def lengths(kind, name):
        return np.array(
            [getattr(shape, name) for shape in shapes if type(shape).__name__ == kind], np.float32
        )

    r = lengths("Circle", "radius")
    w, h = lengths("Rectangle", "width"), lengths("Rectangle", "height")
    b, g = lengths("Triangle", "base"), lengths("Triangle", "height")

    def total(cut):
        c, x, y, d, e = (np.maximum(each - cut, 0) for each in (r, w, h, b, g))
        return np.pi * (c @ c) + x @ y + d @ e / 2

    return total
