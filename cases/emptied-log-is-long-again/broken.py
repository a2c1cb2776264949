import os

with open("service.log", "w") as log:
    for number in range(100_000):
        print("request", number, file=log)
    log.flush()
    os.truncate("service.log", 0)  # as logrotate's copytruncate does
    print("request 100000", file=log)

length = os.path.getsize("service.log")
with open("service.log", "rb") as file:
    first = file.read(7).decode()
