# gives the file that has arrived a second name instead of copying it
def publish(new, path):
    import os

    beside = path.with_suffix(".new")
    os.symlink(new, beside)
    os.replace(beside, path)
    os.sync()
