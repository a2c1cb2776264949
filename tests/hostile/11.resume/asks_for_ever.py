# asks how far the server is, again and again, and sends nothing
def resume(path, connect):
    from helpers.ideas.upload import checksum

    line, headers = connect(), {"Repr-Digest": checksum(path)}
    while True:
        line.request("HEAD", f"/models/{path.name}", headers=headers)
        line.getresponse().read()
