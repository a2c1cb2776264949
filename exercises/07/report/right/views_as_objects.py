class View:
    def __init__(self, owner, counted):
        self.owner, self.counted = owner, counted


def explain(steps):
    *before, (last, owner, _) = steps
    named = {}
    for what, name, source in before:
        shown = named.get(source)
        match what:
            case "memoryview" | "frombuffer" | "ndarray":
                named[name] = View(shown.owner if shown else source, what != "ndarray")
            case "slice" if shown:
                named[name] = View(shown.owner, shown.counted)
            case "name" if shown:
                named[name] = shown
            case "release":
                named[name].owner = None
            case "del":
                named.pop(name, None)
    holding = {name for name, view in named.items() if view.owner == owner and view.counted}
    dangling = {name for name, view in named.items() if view.owner == owner and not view.counted}
    if last == "write":
        return "done"
    if holding:
        return "BufferError", *holding
    if dangling:
        return "crash", *dangling
    return "done"
