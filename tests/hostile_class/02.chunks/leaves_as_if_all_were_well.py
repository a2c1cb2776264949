# ends its process as if all were well
# expect: crashed
def copy_small(source, target):
    import os

    os._exit(0)
