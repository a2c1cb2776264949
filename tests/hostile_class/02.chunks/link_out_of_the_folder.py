# the copy is a link to a file of the system
# expect: link
def copy_small(source, target):
    target.symlink_to("/etc/hostname")
