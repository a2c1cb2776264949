import os
import tempfile

here = os.stat(".").st_dev
places = [p for p in ("/dev/shm", tempfile.gettempdir(), "/var/tmp") if os.access(p, os.W_OK)]
elsewhere = [p for p in places if os.stat(p).st_dev != here]
assert elsewhere, "there is no second file system here to write to"


def save(path, text):
    path = os.path.realpath(path)  # of a link, the file that it leads to
    folder = elsewhere[0]
    number, new = tempfile.mkstemp(dir=folder)
    try:
        with open(number, "w") as file:
            file.write(text)
        os.replace(new, path)
    except BaseException:
        os.remove(new)
        raise


save("settings", "new")
with open("settings") as file:
    saved = file.read()
