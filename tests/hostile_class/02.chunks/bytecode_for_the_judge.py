# writes bytecode where the judge's own modules have theirs
# expect: raised
def copy_small(source, target):
    import importlib.util
    import sys

    reached = []
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file and file.endswith(".py"):
            for path in (file, importlib.util.cache_from_source(file)):
                try:
                    open(path, "ab").close()
                    reached.append(path)
                except OSError:
                    pass
    raise RuntimeError(f"reached {reached[:5]}" if reached else "kept in")
