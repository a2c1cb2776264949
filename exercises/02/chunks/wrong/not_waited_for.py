# expect: late
def copy_small(source, target):
    import shutil
    import threading

    threading.Thread(target=shutil.copyfile, args=(source, target)).start()
