import subprocess
import sys
from multiprocessing.shared_memory import SharedMemory

reader = (
    "import sys; from multiprocessing.shared_memory import SharedMemory; SharedMemory(sys.argv[1])"
)
block = SharedMemory(create=True, size=4096)
subprocess.run([sys.executable, "-c", reader, block.name], check=True, stderr=subprocess.PIPE)
again = SharedMemory(block.name)
again.close()
block.close()
block.unlink()
