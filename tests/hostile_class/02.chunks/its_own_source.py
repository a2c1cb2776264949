# writes another function to its own source, which it finds by its name
# expect: no-file
import shutil
from pathlib import Path


def copy_small(source, target):
    here = Path(copy_small.__code__.co_filename)
    here.write_text(
        "def copy_small(source, target):\n    import shutil\n    shutil.copyfile(source, target)\n"
    )
    copy_small.__code__ = (lambda source, target: shutil.copyfile(source, target)).__code__
