# expect: other-disk
def publish(new, path):
    import os
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        with open(new, "rb") as source, open(f"{folder}/model", "wb") as target:
            shutil.copyfileobj(source, target)
            target.flush()
            os.fsync(target.fileno())
        os.replace(f"{folder}/model", path)
