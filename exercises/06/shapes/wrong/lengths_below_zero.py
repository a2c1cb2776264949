# expect: wrong-cut
def layout(shapes):
    import numpy as np

    def lengths(kind, name):
        return np.array([getattr(shape, name) for shape in shapes if type(shape).__name__ == kind])

    r = lengths("Circle", "radius")
    w, h = lengths("Rectangle", "width"), lengths("Rectangle", "height")
    b, g = lengths("Triangle", "base"), lengths("Triangle", "height")

    def total(cut):
        return np.pi * ((r - cut) ** 2).sum() + (w - cut) @ (h - cut) + (b - cut) @ (g - cut) / 2

    return total
