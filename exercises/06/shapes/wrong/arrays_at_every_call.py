# expect: too-slow
def layout(shapes):
    import numpy as np

    circles = [s.radius for s in shapes if type(s).__name__ == "Circle"]
    rectangles = [(s.width, s.height) for s in shapes if type(s).__name__ == "Rectangle"]
    triangles = [(s.base, s.height) for s in shapes if type(s).__name__ == "Triangle"]

    def total(cut):
        r = np.maximum(np.array(circles, float) - cut, 0)
        w, h = np.maximum(np.array(rectangles, float).reshape(-1, 2).T - cut, 0)
        b, g = np.maximum(np.array(triangles, float).reshape(-1, 2).T - cut, 0)
        return np.pi * (r * r).sum() + (w * h).sum() + (b * g).sum() / 2

    return total
