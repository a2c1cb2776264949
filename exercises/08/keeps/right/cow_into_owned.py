def take(path, name):
    from helpers.ideas.safetensors import TensorFile

    with TensorFile(path) as file:
        return file.cow(name).into_owned()
