"""What it costs to open, list and load a file of tensors: `python benchmarks/bench_safetensors.py`.

Compares TensorFile with the bound (a mapping, json and np.frombuffer, without any checks) and with
other libraries. `python benchmarks/bench_safetensors.py "16 MiB"` leaves out larger files.
"""

import json
import mmap
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from helpers.folders import generated
from helpers.ideas.safetensors import DTYPES, TensorFile, save
from helpers.measure import Recording, drop_from_cache, measure
from helpers.measure.machine import here
from helpers.units import in_words, size

ROUNDS, TURNS = 30, 3  # a turn runs the rounds of every way, so a busy minute hits them all
FILES = [
    ("1 MiB", 10),
    ("1 MiB", 1000),
    ("64 MiB", 128),
    ("1 GiB", 10),
    ("1 GiB", 128),
    ("1 GiB", 1000),
]
Arrays = dict[str, np.ndarray]


def mapping(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def our_load(path: Path) -> Arrays:
    with TensorFile(path) as file:
        return dict(file)


def our_list(path: Path) -> list[str]:
    with TensorFile(path) as file:
        return list(file)


def our_tensor(path: Path, name: str) -> np.ndarray:
    with TensorFile(path) as file:
        return file[name]


def bare_header(mapped: mmap.mmap) -> tuple[dict, int]:
    start = 8 + int.from_bytes(mapped[:8], "little")
    return json.loads(mapped[8:start]), start


def bare_list(path: Path) -> list[str]:
    return list(bare_header(mapping(path))[0])


def bare_array(mapped: mmap.mmap, entry: dict, start: int) -> np.ndarray:
    dtype, (begin, end) = np.dtype(DTYPES[entry["dtype"]]), entry["data_offsets"]
    return np.frombuffer(mapped, dtype, (end - begin) // dtype.itemsize, start + begin).reshape(
        entry["shape"]
    )


def bare_load(path: Path) -> Arrays:
    mapped = mapping(path)
    header, start = bare_header(mapped)
    return {name: bare_array(mapped, entry, start) for name, entry in header.items()}


def bare_tensor(path: Path, name: str) -> np.ndarray:
    mapped = mapping(path)
    header, start = bare_header(mapped)
    return bare_array(mapped, header[name], start)


def reference(framework: str) -> "Way":
    """The safetensors package, for numpy or torch."""
    package, library = import_module("safetensors"), import_module(f"safetensors.{framework}")
    short = {"numpy": "np", "torch": "pt"}[framework]

    def listed(path: Path) -> list[str]:
        with package.safe_open(path, short) as file:
            return list(file.keys())

    def tensor(path: Path, name: str) -> np.ndarray:
        with package.safe_open(path, short) as file:
            return np.asarray(file.get_tensor(name))

    return Way(save, listed, tensor, lambda path: library.load_file(path))


def npy_save(arrays: Arrays, path: Path) -> None:
    path.mkdir()
    for name, array in arrays.items():
        np.save(path / f"{name}.npy", array)


def npy_tensor(path: Path, name: str) -> np.ndarray:
    return np.load(path / f"{name}.npy", mmap_mode="r")


def npy_list(path: Path) -> list[str]:
    return [name.removesuffix(".npy") for name in os.listdir(path)]


def npy_load(path: Path) -> Arrays:
    return {name: npy_tensor(path, name) for name in npy_list(path)}


def pickle_save(arrays: Arrays, path: Path) -> None:
    """Writes the arrays' bytes, then the pickle, then the pickle's offset."""
    with path.open("wb") as file:
        head = pickle.dumps(
            arrays, 5, buffer_callback=lambda buffer: file.write(buffer.raw()) and None
        )
        where = file.tell()
        file.write(head + where.to_bytes(8, "little"))


def pickle_load(path: Path) -> Arrays:
    view = memoryview(mapping(path))
    where, each = int.from_bytes(view[-8:], "little"), int(path.suffix[1:])
    return pickle.loads(
        view[where:-8], buffers=(view[at : at + each] for at in range(0, where, each))
    )


def pickle_tensor(path: Path, name: str) -> np.ndarray:
    return pickle_load(path)[name]


def arrow() -> "Way":
    pa = import_module("pyarrow")

    def keep(arrays: Arrays, path: Path) -> None:
        batch = pa.record_batch({name: array.ravel() for name, array in arrays.items()})
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, batch.schema) as writer:
            writer.write(batch)

    def batch(path: Path) -> Any:
        return pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)

    return Way(
        keep,
        lambda path: batch(path).schema.names,
        lambda path, name: batch(path)[name].to_numpy(),
        lambda path: arrays_of(batch(path)),
    )


def arrays_of(batch: Any) -> Arrays:
    return {
        name: column.to_numpy()
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    }


@dataclass(frozen=True)
class Way:
    save: Callable[[Arrays, Path], None]
    listed: Callable[[Path], list[str]]
    tensor: Callable[[Path, str], np.ndarray]
    load: Callable[[Path], Arrays]


def ways() -> dict[str, Way]:
    found = {
        "**`TensorFile`**": Way(save, our_list, our_tensor, our_load),
        "mmap, json, np.frombuffer (the bound)": Way(save, bare_list, bare_tensor, bare_load),
        "np.load, mmap_mode, one file per tensor": Way(npy_save, npy_list, npy_tensor, npy_load),
        "pickle 5, out of band, mapped": Way(pickle_save, pickle_load, pickle_tensor, pickle_load),
    }
    for title, make in {
        "safetensors.numpy": lambda: reference("numpy"),
        "safetensors.torch": lambda: reference("torch"),
        "pyarrow, memory_map": arrow,
    }.items():
        try:
            found[title] = make()
        except ImportError as error:
            print(f"left out: {title} ({error})")
    return found


def best(call: Callable[[], object]) -> float:
    """The best seconds of ROUNDS calls, or of as many as fit into a second. Drops each result
    before the next call.
    """
    times, until = [], time.perf_counter() + 1
    while len(times) < ROUNDS and (not times or time.perf_counter() < until):
        began = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - began)
        del result
    return min(times)


def touched(arrays: Arrays) -> int:
    """Reads a value from every page."""
    return sum(
        int(np.count_nonzero(np.asarray(array).ravel().view("u4")[::1024]))
        for array in arrays.values()
    )


def times(way: Way, path: Path, name: str) -> list[float]:
    return [
        best(lambda: way.listed(path)),
        best(lambda: way.tensor(path, name)),
        best(lambda: way.load(path)),
        best(lambda: touched(way.load(path))),
    ]


def first(way: Way, path: Path) -> float:
    """Seconds to load and touch everything, once."""
    began = time.perf_counter()
    touched(way.load(path))
    return time.perf_counter() - began


def fresh(function: Callable, *args: object) -> Recording:
    run = measure(function, *args, timeout=300)
    if run.ended != "returned":
        raise RuntimeError(run.error)
    return run


def files_of(path: Path) -> list[Path]:
    return list(path.iterdir()) if path.is_dir() else [path]


def bench(text: str, count: int, folder: Path, ways: dict[str, Way]) -> None:
    each = size(text) // count // 1024 * 1024  # whole KiB, so all are aligned
    block = np.random.default_rng(0).random(each // 4, "f4").reshape(-1, 64)
    # separate arrays, or pickle would store only one
    arrays = {f"layers.{i}.weight": block[:] for i in range(count)}
    # one file per format
    paths = {way.save: folder / f"{i}.{each}" for i, way in enumerate(ways.values())}
    for write, path in paths.items():
        write(arrays, path)
    heads = (
        "open, list",
        "one tensor",
        "all tensors",
        "all, touched",
        "… first, cold",
        "anonymous, loaded",
        "… file",
    )
    print(
        f"\n### {text}, {count:,} tensors\n\n| way | "
        + " | ".join(heads)
        + " |\n|---|"
        + "---:|" * len(heads)
    )
    turns = [
        [fresh(times, way, paths[way.save], "layers.1.weight").value for way in ways.values()]
        for _ in range(TURNS)
    ]
    for (title, way), rounds in zip(ways.items(), zip(*turns, strict=True), strict=True):
        for file in files_of(paths[way.save]):
            drop_from_cache(file)
        cold = fresh(first, way, paths[way.save])
        memory = [in_words(growth, "bytes") for growth in (cold.peak.anonymous, cold.peak.file)]
        row = [*map(milliseconds, [*map(min, zip(*rounds, strict=True)), cold.value]), *memory]
        print(f"| {title} | " + " | ".join(row) + " |", flush=True)
    for path in paths.values():
        for file in files_of(path):
            file.unlink()
        if path.exists():
            path.rmdir()


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:,.3g} ms"


if __name__ == "__main__":
    largest = size(sys.argv[1] if len(sys.argv) > 1 else "1 GiB")
    print(here())
    found = ways()
    with tempfile.TemporaryDirectory(prefix="bench-", dir=generated()) as folder:
        for text, count in FILES:
            if size(text) <= largest:
                bench(text, count, Path(folder), found)
