# a dict of very many, very long names
def read(path):
    return {f"{at}" + "x" * 10**6: at for at in range(50)}
