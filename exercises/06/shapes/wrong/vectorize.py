# expect: too-slow
def layout(shapes):
    import numpy as np

    objects = np.array(shapes, object)
    areas = np.vectorize(lambda shape, cut: shape.area(cut), otypes=[float])

    def total(cut):
        return areas(objects, cut).sum() if len(objects) else 0.0

    return total
