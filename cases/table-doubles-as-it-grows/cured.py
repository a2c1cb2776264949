import tracemalloc

keys = list(range(175_000))  # a few more than a table of 2**18 places takes
shards = 64

tracemalloc.start()
table = [{} for _ in range(shards)]
for key in keys:
    table[key % shards][key] = True
kept, highest = tracemalloc.get_traced_memory()
entries = sum(map(len, table))
