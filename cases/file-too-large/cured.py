import resource

limit = 1 << 20
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))  # as a profile, a unit or a cluster does

data = bytes(3 * limit)
piece = limit
for start in range(0, len(data), piece):
    with open(f"out.{start // piece}", "wb") as file:
        file.write(data[start : start + piece])
