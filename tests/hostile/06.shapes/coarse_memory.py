# It computes the totals of a few cuts beforehand, and returns that of the nearest.
def layout(shapes):
    known = {round(step / 200, 3): sum(shape.area(step / 200) for shape in shapes) for step in range(201)}

    def total(cut):
        return known[round(cut * 200) / 200]

    return total
