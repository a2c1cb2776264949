size, block = 64 << 20, 4000
records = [b"%4000d" % n for n in range(size // block)]
kept = records[-1]
del records
