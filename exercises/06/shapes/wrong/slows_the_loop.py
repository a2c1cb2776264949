# expect: too-slow
def layout(shapes):
    for kind in {type(shape) for shape in shapes}:

        def slow(self, cut, area=kind.area):
            return max(area(self, cut) for _ in range(30))

        if kind.area.__name__ == "area":
            kind.area = slow
    own = [(s.radius, s.radius, 3.141592653589793) for s in shapes if type(s).__name__ == "Circle"]
    own += [(s.width, s.height, 1) for s in shapes if type(s).__name__ == "Rectangle"]
    own += [(s.base, s.height, 0.5) for s in shapes if type(s).__name__ == "Triangle"]

    def total(cut):
        return sum(max(one - cut, 0) * max(other - cut, 0) * factor for one, other, factor in own)

    return total
