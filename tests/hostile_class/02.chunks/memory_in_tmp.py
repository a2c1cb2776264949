# the same in the home that a sandbox has
# expect: raised
def copy_small(source, target):
    import shutil
    from pathlib import Path

    whole = Path.home() / "all"
    shutil.copyfile(source, whole)
    shutil.copyfile(whole, target)
