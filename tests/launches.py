"""Tries the ways of cases/launches.toml into JupyterHub and ltiauthenticator, with the
configuration of values.yaml and the addresses of its README.md. There are no proxy and no servers,
and Moodle is a key. test_image.py runs it.
"""

import asyncio
import re
from types import SimpleNamespace

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from httpx import AsyncClient
from jupyterhub.app import JupyterHub
from tables import cases
from test_image import IMAGE, VALUES
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from traitlets.config import Config

OPTIONS, CLICK, CLAIMS, WAYS = cases("launches").values()
TOOL, LOGIN, CALLBACK = re.findall(
    "`https://YOUR-HUB(/hub.*?)`", (IMAGE / "README.md").read_text(encoding="utf-8")
)
MOODLE = rsa.generate_private_key(65537, 2048)
# without a network
jwt.PyJWKClient.get_signing_key_from_jwt = lambda *_: SimpleNamespace(key=MOODLE.public_key())

# As the chart's jupyterhub_config.py does it.
c = Config(VALUES["hub"]["config"])
exec(VALUES["hub"]["extraConfig"]["launches_only"])


async def main() -> None:
    hub = JupyterHub(config=c)
    await hub.initialize(OPTIONS)
    socket, port = bind_unused_port()
    HTTPServer(hub.tornado_application).add_socket(socket)
    for way in WAYS:
        browser = AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60)
        question = await browser.post(
            LOGIN, data=CLICK | {"target_link_uri": way.get("target", TOOL)}
        )
        asked = dict(question.next_request.url.params)
        token = jwt.encode(CLAIMS | asked | way["claims"], MOODLE, "RS256") + way.get(
            "signature", ""
        )
        answer = {"data": asked | {"id_token": token}}
        end = await browser.post(
            way.get("path", CALLBACK), **way.get("sends", answer), follow_redirects=True
        )
        assert end.status_code == way["leads_to"], way


asyncio.run(main())
