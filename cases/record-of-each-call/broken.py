from unittest.mock import Mock

import numpy as np

calls, size = 4, 40 << 20
save = Mock()

for n in range(calls):
    save(np.full(size // 8, n, float))

saved = [int(call.args[0][0]) for call in save.call_args_list]
