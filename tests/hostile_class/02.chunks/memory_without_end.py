# takes memory until somebody says no
# expect: memory-limit
def copy_small(source, target):
    held = []
    while True:
        held.append(b"1" * 2**24)
