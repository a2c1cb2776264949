# expect: too-much-memory
def serve(paths, requests):
    from functools import cache

    import numpy as np

    from helpers.ideas.safetensors import TensorFile

    models = [TensorFile(path) for path in paths]

    @cache
    def get(number, name):
        return models[number][name].astype(np.float32, copy=False)

    answers = []
    for number, x in requests:
        for i in range(8):
            x = np.maximum(get(number, f"layers.{i}.weight") @ x + get(number, f"layers.{i}.bias"), 0)
        answers.append(x)
    return answers
