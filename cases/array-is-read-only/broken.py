import numpy as np

packet = np.arange(8, dtype=np.uint8).tobytes()
numbers = np.frombuffer(packet, np.uint8)
numbers[0] = 9
