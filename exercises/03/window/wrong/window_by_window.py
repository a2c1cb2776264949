# expect: multiples-only
def largest_sum(path, width):
    best = 0
    with open(path, "rb") as file:
        while len(window := file.read(width)) == width:
            best = max(best, sum(window))
    return best
