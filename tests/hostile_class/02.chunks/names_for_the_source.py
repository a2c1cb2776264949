# ten thousand names for the file that was handed out
# expect: crashed
def copy_small(source, target):
    import os

    for number in range(10**4):
        os.link(source, f"{number}")
