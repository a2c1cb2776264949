# expect: wrong-cut
def layout(shapes):
    area = sum(shape.area(0) for shape in shapes)

    def total(cut):
        return area

    return total
