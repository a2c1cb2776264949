# gauge: RssAnon is far above RssFile, and `where(latest[1])` names an owner of 8 MiB.
# pool: each worker's Private_Dirty is as large as the list. `weights` is larger, and isn't in it.
# titles: `maps` has a file that is marked (deleted), and `who_holds` names `answered[0]`.
def diagnose():
    """For each program the name of its case in the casebook, and the name at fault."""
    return {
        "gauge": ("rows-keep-the-file", "latest"),
        "pool": ("fork-copies-objects", "words"),
        "titles": ("deleted-and-still-there", "answered"),
    }
