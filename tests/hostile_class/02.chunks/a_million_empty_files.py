# a million files with nothing in them
# expect: crashed
def copy_small(source, target):
    for number in range(10**6):
        open(f"{number}", "wb").close()
