import os


def save(text):  # as most editors do
    with open("config.new", "w") as file:
        file.write(text)
    os.replace("config.new", "config")


save("level = 1")
with open("config") as config:
    before = config.read()
    save("level = 2")
    config.seek(0)
    after = config.read()
