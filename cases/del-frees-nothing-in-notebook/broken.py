import os

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

os.environ["IPYTHONDIR"] = os.getcwd()
shell = InteractiveShell(config=Config(HistoryManager={"enabled": False}))
runs, size = 4, 40 << 20
shell.run_cell("import numpy as np", store_history=True)
for _ in range(runs):
    shell.run_cell(f"table = np.ones({size // 8}); table", store_history=True)
shell.run_cell("del table", store_history=True)
