"""A server for a model that changes while it's served. Read it in this order:

validation   what a request may say, and how one that says anything else is refused
uploads      PUT: a file arrives in parts, is checked, and takes the old file's place at once
digits       the model: a recogniser of digits, from mapped, copied or halved weights
model_store  what a version is, and how it's opened
versions     which version a request gets, and when the old one is unmapped
payloads     POST: pictures, or a tenant's weights
sending      GET: the file
wire         how the kernel copies the file to the socket
app          what is served where
scoreboard   what each worker has in memory
budget       how much memory of its own a worker may take
workers      a process that answers
supervisor   the process that forks the workers, and replaces one that dies
start        serve(folder), which starts them all and ends them

client       asks: once, or again and again
load         the process that does it again and again

It's a lesson's server, on 127.0.0.1. It promises that a model is published whole or not at all, that each answer comes
from the version that it names, and that a client that is slow, silent or gone costs the others little
(helpers/serving_limits.py). It doesn't promise that

- there is a descriptor for everybody: more clients than `ulimit -n` fill its standard error with messages;
- eight clients that have a large file hashed at once (HEAD with Repr-Digest) keep nobody waiting;
- it notices a worker that was stopped (SIGSTOP), or answers a client that has closed its half of the connection;
- what others put into its folder gets a fitting status: a pipe there can take a thread for ever;
- a worker whose memory ran out again and again gets all of it back;
- the disk has room for uploads that nobody finishes: the next upload removes those of more than a day ago.

>>> with serve("models", workers=4, memory="64 MiB") as server:
...     print(server.address)
"""

from .start import Running, serve

__all__ = ["Running", "serve"]  # nothing here imports numpy: `__main__` says what that would break
