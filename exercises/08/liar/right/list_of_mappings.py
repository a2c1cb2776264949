# on: linux
def liars(loaders):
    def borrows(array, path):
        start = array.__array_interface__["data"][0]
        with open("/proc/self/maps") as file:
            for line in file:
                begin, end = (int(part, 16) for part in line.split()[0].split("-"))
                if begin <= start < end:
                    return line.split(maxsplit=5)[-1].strip() == str(path)

    return tuple(
        n
        for n, (load, path) in loaders.items()
        if not all(borrows(a, path) for a in load(path).values())
    )
