# leaves its folder so that nobody may look into it
# expect: unreadable
def copy_small(source, target):
    import os

    os.chmod(target.parent, 0)
