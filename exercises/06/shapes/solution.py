def layout(shapes):
    """A function total(cut): the sum of shape.area(cut) over all shapes."""
    import numpy as np

    def lengths(kind, name):
        return np.array([getattr(shape, name) for shape in shapes if type(shape).__name__ == kind])

    radii = lengths("Circle", "radius")
    widths, heights = lengths("Rectangle", "width"), lengths("Rectangle", "height")
    bases, altitudes = lengths("Triangle", "base"), lengths("Triangle", "height")

    def total(cut):
        r, w, h, b, a = (
            np.maximum(each - cut, 0) for each in (radii, widths, heights, bases, altitudes)
        )
        return np.pi * (r @ r) + w @ h + b @ a / 2

    return total
