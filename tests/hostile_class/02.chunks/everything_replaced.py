# replaces what a judge could use in its process, and says that it has copied
# expect: no-file
def copy_small(source, target):
    import builtins
    import json
    import os
    import pickle
    import sys
    from pathlib import Path

    def fine(*_, **__):
        return True

    for module in (json, pickle, os, os.path, sys.modules["__main__"]):
        for name in list(vars(module)):
            if (
                callable(getattr(module, name))
                and not name.startswith("__")
                and name not in ("write", "read", "_exit")
            ):
                setattr(module, name, fine)
    Path.exists = Path.touch = Path.stat = fine
    builtins.open = builtins.len = builtins.sum = fine
