# expect: too-much-memory
def serve(paths, requests):
    import numpy as np

    from helpers.ideas.safetensors import TensorFile

    models = []
    for path in paths:
        file = TensorFile(path)
        models.append({name: file[name].copy() for name in file})
    answers = []
    for number, x in requests:
        model = models[number]
        for i in range(8):
            weight, bias = model[f"layers.{i}.weight"], model[f"layers.{i}.bias"]
            x = np.maximum(weight @ x + bias, 0)
        answers.append(x)
    return answers
