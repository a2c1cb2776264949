# a loop that nothing ends
# expect: still-running
def copy_small(source, target):
    while True:
        pass
