class Total:
    def __init__(self, shapes):
        import numpy as np

        rows = [
            (s.radius, s.radius, np.pi)
            if hasattr(s, "radius")
            else (s.width, s.height, 1)
            if hasattr(s, "width")
            else (s.base, s.height, 0.5)
            for s in shapes
        ]
        self.columns = np.array(rows, float).reshape(-1, 3).T.copy()

    def __call__(self, cut):
        one, other, factor = self.columns
        return (factor * (one - cut).clip(0) * (other - cut).clip(0)).sum()


def layout(shapes):
    return Total(shapes)
