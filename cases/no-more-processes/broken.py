import resource
import threading

database, answered, requests = threading.Event(), [], 100


def answer(number):
    database.wait()
    answered.append(number)


threading.stack_size(16 << 20)
with open("/proc/self/statm") as file:
    taken = int(file.read().split()[0]) * resource.getpagesize()
# of addresses, for the stacks: a limit on tasks would count the user's other programs
limit = taken + (1 << 30)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

for number in range(requests):
    threading.Thread(target=answer, args=[number], daemon=True).start()
database.set()
