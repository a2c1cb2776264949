# maps a copy of the file that it has deleted: the file itself is neither mapped nor open
def take(path, name):
    import os
    import shutil

    from helpers.ideas.safetensors import TensorFile

    copy = shutil.copyfile(path, f"{path}.copy")
    file = TensorFile(copy)
    os.remove(copy)
    return file[name]
