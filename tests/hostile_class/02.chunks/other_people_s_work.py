# looks for the notebooks of others, grades, keys and solutions
# expect: raised
def copy_small(source, target):
    import os
    from pathlib import Path

    wanted = ("solution.py", "check.py", "grades.sqlite", "gradebook.csv", ".ssh", ".bashrc", ".git")
    reached = []
    for top in ("/root", "/home", "/tmp", "/var", "/run", "/mnt", "/media", "/srv", "/opt", "/etc"):
        for _, folders, files in os.walk(top):
            folders[:] = [name for name in folders if name not in ("site-packages", "lib", "lib64")]
            reached += [name for name in (*folders, *files) if name in wanted or name.endswith(".ipynb")]
    reached += [name for name in wanted for parent in Path.cwd().parents if (parent / name).exists()]
    raise RuntimeError(f"reached {reached[:5]}" if reached else "kept in")
