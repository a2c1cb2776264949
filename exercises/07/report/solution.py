# The error is case("cannot-close-exported") of helpers.casebook, the crash
# case("array-outlives-shared-block").
def explain(steps):
    """The last step's outcome: "done", or another word and the names concerned."""
    # name -> [the owner that it shows, is it counted?]; two names of one view have one list
    views = {}
    for what, name, source in steps[:-1]:
        if what in ("memoryview", "frombuffer", "ndarray"):
            owner = views[source][0] if source in views else source
            views[name] = [owner, what != "ndarray"]
        elif what == "slice" and source in views:
            views[name] = list(views[source])
        elif what == "name":
            views[name] = views[source]
        elif what == "release":
            views[name][0] = None
        elif what == "del":
            views.pop(name, None)
    what, owner, _ = steps[-1]
    counted = [name for name, view in views.items() if view == [owner, True]]
    uncounted = [name for name, view in views.items() if view == [owner, False]]
    if what == "write" or not counted + uncounted:
        return "done"
    return ("BufferError", *counted) if counted else ("crash", *uncounted)
