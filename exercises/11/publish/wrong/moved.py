# expect: written-in-place
def publish(new, path):
    import shutil

    shutil.move(shutil.copyfile(new, new.with_suffix(".copy")), path)
