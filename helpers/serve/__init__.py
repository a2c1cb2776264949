"""A server for a model that changes while it's served. Read it in this order:

asked      what a request may say, and how one that says anything else is refused
parts      what has arrived of a file
arriving   PUT: a file arrives in parts, is checked, and takes the old file's place at once
digits     the model: a recogniser of digits, from mapped, copied or halved weights
opening    what a version is, and how it's opened
versions   which version a request gets, and when the old one is unmapped
bodies     POST: pictures, or a tenant's weights
sending    GET: the file, or a range of it
wire       how the kernel copies the file to the socket
app        what is served where
metrics    what each worker has in memory
budget     how much memory of its own a worker may take
ports      the sockets that the workers listen on
places     when a worker that has died is replaced
workers    four processes, one port, one file in memory
start      serve(folder), which starts them all and ends them

>>> with serve("models", workers=4, memory="64 MiB") as server:
...     print(server.address)
"""

from .start import Running, serve

__all__ = ["Running", "serve"]
