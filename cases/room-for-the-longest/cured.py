import resource

import numpy as np

limit = 16 << 30  # in place of a GPU or a container: a limit on addresses
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

layers, heads, width = 32, 8, 128
prompt = 300
context = 4096  # n_ctx: the longest request, with its answer
cache = np.zeros((2, layers, context, heads, width), np.float16)  # keys and values
cache[:, :, :prompt] = 1
taken = cache.nbytes
