# carries the file as a whole through files that lie in memory
# expect: raised
def copy_small(source, target):
    import shutil

    shutil.copyfile(source, "/dev/shm/all")
    shutil.copyfile("/dev/shm/all", target)
