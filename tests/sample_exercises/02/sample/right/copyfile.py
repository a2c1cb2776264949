def copy(source, target):
    import shutil

    shutil.copyfile(source, target)
