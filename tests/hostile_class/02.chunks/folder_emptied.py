# deletes all that it can, the file that was handed out too
# expect: source-gone
def copy_small(source, target):
    import os
    import shutil

    if os.getpid() == 1:  # outside of a sandbox this must not run
        shutil.rmtree(target.parent.parent, ignore_errors=True)
