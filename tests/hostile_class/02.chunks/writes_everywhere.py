# leaves a file in every folder that there is
# expect: raised
def copy_small(source, target):
    import os

    reached = []
    for folder, folders, _ in os.walk("/"):
        if folder == os.getcwd() or folder in ("/proc", "/tmp", "/dev/shm", "/usr/share"):
            folders.clear()
            continue
        try:
            open(f"{folder}/zero-copy-was-here", "w").close()
            reached.append(folder)
        except OSError:
            pass
    raise RuntimeError(f"reached {reached[:5]}" if reached else "kept in")
