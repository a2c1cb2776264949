# writes into the figures, so that what is right is worked out from others
def explain(size, before, after):
    for moment in (before, after):
        for process in moment["processes"]:
            process.update(dict.fromkeys(process, 0))
    return 0, "part"
