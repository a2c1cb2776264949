# expect: too-much-memory
def take(path, name):
    from helpers.ideas.safetensors import TensorFile

    with TensorFile(path) as file:
        tensors = {key: tensor.copy() for key, tensor in file.items()}
    return tensors[name]
