import ctypes
import errno
import os
import resource

libc = ctypes.CDLL(None, use_errno=True)
most = min(resource.getrlimit(resource.RLIMIT_NOFILE)[1], 1 << 16)
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # descriptors are not what runs out
with open("/proc/sys/fs/inotify/max_user_instances") as file:
    folders = int(file.read()) + 1


def observer():  # what watchdog's Observer does first, and what it says when that is refused
    instance = libc.inotify_init1(os.O_CLOEXEC)
    if instance < 0 and ctypes.get_errno() == errno.EMFILE:
        os.close(os.open(os.devnull, os.O_RDONLY))  # there is still a descriptor
        raise OSError(errno.EMFILE, "inotify instance limit reached")
    return instance


one, watched = observer(), 0
for number in range(folders):
    os.mkdir(str(number))
    watched += libc.inotify_add_watch(one, str(number).encode(), 0x100) > 0  # IN_CREATE
