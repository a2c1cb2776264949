# prints a gigabyte, and more
# expect: crashed
def copy_small(source, target):
    while True:
        print("1" * 2**24)
