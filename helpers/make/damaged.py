"""Small safetensors files, each with one thing wrong: damaged.toml says what."""

import struct
import tomllib
from pathlib import Path
from types import MappingProxyType

FILES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
DAMAGES = MappingProxyType({kind: file["says"] for kind, file in FILES.items() if kind != "none"})


def damaged(kind: str) -> bytes:
    """A file with this damage and no other; `damaged("none")` is well-formed. KeyError for an
    unknown kind. The well-formed file holds "weight", F32 of shape [2], with values [1, 2]. DAMAGES
    says how the others differ.
    """
    if kind not in FILES:
        raise KeyError(f"no damage {kind!r}; there are: {', '.join(FILES)}")
    file = FILES[kind]
    text = file["header"].replace("DEEP", "[" * 2000 + "]" * 2000).replace("LONG", "9" * 5000)
    header = text.encode(file.get("encoding", "utf-8"))
    header += b" " * (-len(header) % 8)
    data = bytes.fromhex(file["data"]) if "data" in file else struct.pack("<2f", 1.0, 2.0)
    return (struct.pack("<Q", file.get("length", len(header))) + header + data)[: file.get("end")]
