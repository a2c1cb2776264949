def save(array, path):
    from helpers.make import whole_file

    with whole_file(path, array.nbytes) as file:
        file.write(array)
