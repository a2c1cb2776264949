# leaves a file in every folder near the root, and writes to the judge's modules and their bytecode
# expect: raised
def find(session, mapping):
    import importlib.util
    import os
    import sys

    reached = []
    for folder, folders, _ in os.walk("/"):
        if folder == os.getcwd() or folder in ("/proc", "/tmp", "/dev/shm", "/usr/share"):
            folders.clear()
            continue
        if folder.count("/") > 5:
            folders.clear()
        try:
            open(f"{folder}/zero-copy-was-here", "w").close()
            reached.append(folder)
        except OSError:
            pass
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
