#!/bin/sh
# Prints the Python that the environment shall be made with: the one that is given, or else python3, or else another on
# the PATH, or else one that uv fetches. Where there is none it says what to install. A course that root installs for
# many (/srv, /opt, /usr) needs a Python that all may execute, not one below root's home.
case $(id -u)$PWD in 0/srv/* | 0/opt/* | 0/usr/*) for=everybody ;; *) for= ;; esac
suits() {
  "$@" - $for 2>/dev/null <<'END'
import sys, ensurepip, pathlib
path = pathlib.Path(sys.executable).resolve()
closed = len(sys.argv) > 1 and any(not each.stat().st_mode & 1 for each in (path, *path.parents))
sys.exit(closed or not (3, 11) <= sys.version_info < (3, 16))
END
}
fail() {
  printf '%s\n' "Needs Python 3.11 to 3.15 with venv (Debian, Ubuntu: apt install python3-venv)." "$@" >&2
  exit 1
}

if [ $# -gt 0 ]; then
  suits "$@" || fail "$* is $("$@" --version 2>&1 | head -n 1)${for:+, or only root may execute it}. Another one: make env PYTHON=/usr/bin/python3"
  echo "$@"
  exit
fi

# 3.15 comes last, because not every library is there for it yet.
for python in python3 python3.14 python3.13 python3.12 python3.11 python3.15; do
  if suits "$python"; then
    echo "$python"
    exit
  fi
done

if [ "$for" ] && suits /usr/bin/python3; then
  echo /usr/bin/python3
  exit
fi

echo "No such Python is on the PATH; asking uv to fetch one." >&2
uv=uv
# A python3 that is too old or too new for the lessons can still install uv.
if ! command -v uv >/dev/null && python3 -m venv build/uv >/dev/null 2>&1; then
  uv=build/uv/bin/uv
  sed -n '/^uv==/,/[^\\]$/p' environment/requirements.lock | build/uv/bin/pip install -q -r /dev/stdin >&2
fi
said=$("$uv" python install 3.14 2>&1) || fail "None is on the PATH, and uv could not fetch one: $said"
UV_PYTHON_PREFERENCE=only-managed "$uv" python find 3.14
