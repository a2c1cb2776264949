import pyarrow as pa

piece = pa.array(["x" * 1_000_000] * 16)
texts = pa.chunked_array([piece] * 150)  # 2.4 GB in all; in memory it is one piece
wanted = [0, len(texts) - 1]
found = len(texts.filter(pa.array([n in wanted for n in range(len(texts))])))
