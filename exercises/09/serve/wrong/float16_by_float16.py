# expect: half-precision
def serve(paths, requests):
    import numpy as np

    from helpers.ideas.safetensors import TensorFile

    models = [TensorFile(path) for path in paths]
    answers = []
    for number, x in requests:
        model = models[number]
        for i in range(8):
            weight, bias = model[f"layers.{i}.weight"], model[f"layers.{i}.bias"]
            x = np.maximum(weight @ x.astype(weight.dtype) + bias, 0).astype(np.float32)
        answers.append(x)
    return answers
