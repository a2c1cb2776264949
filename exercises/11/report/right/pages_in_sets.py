def explain(folder, workers):
    def pages(text, old):
        for line in text.splitlines():
            addresses, _, offset, *file = line.split(maxsplit=5)
            if (
                file[2:]
                and file[2].startswith(folder + "/")
                and file[2].endswith("(deleted)") == old
            ):
                first, after = (int(address, 16) for address in addresses.split("-"))
                for at in range(0, after - first, 4096):
                    yield file[0], file[1], int(offset, 16) + at

    old = [set(pages(text, True)) for text in workers]
    current = [set(pages(text, False)) for text in workers]
    both = any(map(lambda a, b: a and b, old, current))
    held = set().union(*old)
    return [4096 * len(held), "kept" if both else "idle" if held else "fine"]
