# expect: written-in-place
def save(array, path):
    with open(path, "r+b") as file:
        file.write(array)
