def copy_small(source, target):
    import shutil

    shutil.copyfile(source, target)
