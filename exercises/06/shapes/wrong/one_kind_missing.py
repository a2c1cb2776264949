# expect: raised
def layout(shapes):
    import numpy as np

    radii = np.array([s.radius for s in shapes if type(s).__name__ == "Circle"])
    rectangles = np.array([(s.width, s.height) for s in shapes if type(s).__name__ == "Rectangle"])
    triangles = np.array([(s.base, s.height) for s in shapes if type(s).__name__ == "Triangle"])

    def total(cut):
        r, (w, h), (b, g) = (np.maximum(each.T - cut, 0) for each in (radii, rectangles, triangles))
        return np.pi * (r @ r) + w @ h + b @ g / 2

    return total
