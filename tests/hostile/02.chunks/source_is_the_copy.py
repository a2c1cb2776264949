# moves the source, and leaves a link to it in its place
import os


def copy_small(source, target):
    os.rename(source, target)
    os.symlink(target, source)
