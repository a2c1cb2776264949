# expect: too-slow
def layout(shapes):
    def total(cut):
        return sum(shape.area(cut) for shape in shapes)

    return total
