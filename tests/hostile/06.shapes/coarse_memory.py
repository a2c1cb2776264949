# It computes the totals of a few cuts beforehand, and returns that of the nearest.
def layout(shapes):
    known = {
        round(step / 40, 3): sum(shape.area(step / 40) for shape in shapes) for step in range(41)
    }

    def total(cut):
        return known[round(cut * 40) / 40]

    return total
