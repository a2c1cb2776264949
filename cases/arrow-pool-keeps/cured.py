import pyarrow as pa
import pyarrow.compute as pc

size = 64 << 20
columns = [pc.random(size // 64 // 8) for _ in range(64)]
del columns
in_use = pa.total_allocated_bytes()
pa.default_memory_pool().release_unused()
