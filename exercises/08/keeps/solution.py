def take(path, name):
    """The tensor of that name, and nothing else of the file."""
    from helpers.ideas.safetensors import TensorFile

    with TensorFile(path) as file:
        return file[name].copy()
