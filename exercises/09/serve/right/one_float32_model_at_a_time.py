def serve(paths, requests):
    import numpy as np

    from helpers.ideas.safetensors import open_tensors

    files = [open_tensors(path) for path in paths]
    answers, last, model = [], None, None
    for number, x in requests:
        if number != last:
            model = None
            model, last = (
                {name: np.asarray(tensor, np.float32) for name, tensor in files[number].items()},
                number,
            )
        for i in range(8):
            x = np.maximum(model[f"layers.{i}.weight"] @ x + model[f"layers.{i}.bias"], 0)
        answers.append(x)
    return tuple(answers)
