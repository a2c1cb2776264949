# takes the block's bytes away from under whoever has it mapped
# expect: crashed or raised or not-counted or no-cart
import os
import time


def shared_cart(name):
    os.truncate(f"/dev/shm/{name}", 0)
    time.sleep(0.1)
