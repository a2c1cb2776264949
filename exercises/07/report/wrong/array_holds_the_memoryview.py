# expect: around-deleted
def explain(steps):
    views = {}  # name -> [owner, is it counted?, the view that an uncounted one is made from]
    for what, name, source in steps[:-1]:
        if what in ("memoryview", "frombuffer", "ndarray"):
            of = views.get(source)
            views[name] = [
                of[0] if of else source,
                what != "ndarray",
                of if what == "ndarray" else None,
            ]
        elif what == "slice" and source in views:
            views[name] = list(views[source])
        elif what == "name":
            views[name] = views[source]
        elif what == "release":
            views[name][0] = None
        elif what == "del":
            views.pop(name, None)
    what, owner, _ = steps[-1]
    shown = {name: view for name, view in views.items() if view[0] == owner}
    counted = [name for name, view in shown.items() if view[1] or (view[2] and view[2][0] == owner)]
    if what == "write" or not shown:
        return "done"
    return ("BufferError", *counted) if counted else ("crash", *shown)
