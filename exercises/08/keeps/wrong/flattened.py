# expect: other-array
def take(path, name):
    from helpers.ideas.safetensors import TensorFile

    with TensorFile(path) as file:
        return file[name].flatten()
