"""Merges three texts of a lesson, cell by cell: as handed out, as the student has it, and as a new
edition has it. Cells with the same id are the same cell. Cells are dicts, as in the notebook's
JSON.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

Cell = Mapping[str, Any]


@dataclass(frozen=True)
class Merged:
    cells: list[Cell]
    brought: tuple[str, ...]  # ids of the cells that the edition added, changed or removed
    kept: tuple[Cell, ...]  # that stay the student's, although the edition changed or removed them


def merged(base: Sequence[Cell], mine: Sequence[Cell], theirs: Sequence[Cell]) -> Merged:
    """The student's lesson `mine`, once made from `base`, with what the edition `theirs` has
    changed since. What the student changed or added stays; all else is as the edition has it, and
    outputs stay where the text is the same. Without a `base`, whatever differs counts as the
    student's.
    """
    old, own, new = ({cell["id"]: cell for cell in cells} for cells in (base, _named(mine), theirs))
    cells, left = {}, []
    for name in own | new:
        was = old.get(name)
        is_ = own.get(name)
        will = new.get(name)
        if not is_:
            if not was:
                cells[name] = _without_outputs(will)
        elif was and text(is_) == text(was):
            if will and text(will) != text(is_):
                cells[name] = _without_outputs(will)
            elif will:  # the outputs stay
                cells[name] = (
                    is_
                    if will["metadata"] == was["metadata"]
                    else {**is_, "metadata": will["metadata"]}
                )
        else:
            cells[name] = is_
            if text(will) != text(was) and text(will) != text(is_):
                left.append(is_)
    moved = [name for name in own if name in old] != [name for name in old if name in own]
    first, then = (own, new) if moved or not old else (new, own)
    order = _woven(
        [name for name in first if name in cells], [name for name in then if name in cells]
    )
    brought = (name for name in own | cells if text(own.get(name)) != text(cells.get(name)))
    return Merged([cells[name] for name in order], tuple(brought), tuple(left))


def note_of(cell: Cell) -> str:
    """The id of the cell that a note of ours stands above; "" if it's no note, or the student has
    written in it.
    """
    match cell["metadata"]:
        case {"zero_copy_note": [str(name), words]} if words == "".join(cell["source"]):
            return name
    return ""


def notes(mine: Sequence[Cell], theirs: Iterable[Cell]) -> dict[str, bool]:
    """By the ids of the cells that have a note: does it still hold? It doesn't once the cell is as
    the edition has it, or gone.
    """
    own = {cell.get("id"): text(cell) for cell in mine}
    new = {cell["id"]: text(cell) for cell in theirs}
    return {
        name: own.get(name, new.get(name)) != new.get(name) for name in map(note_of, mine) if name
    }


def with_notes(made: Merged, hold: Mapping[str, bool], words: str) -> Iterator[Cell]:
    """The merged cells, with a note in these `words` above each that was kept now, or whose note
    still holds.
    """
    for cell in made.cells:
        name = cell["id"]
        if cell in made.kept or hold.get(name):
            metadata = {"zero_copy_note": [name, words]}
            yield {
                "id": uuid4().hex[:8],
                "cell_type": "markdown",
                "metadata": metadata,
                "source": words,
            }
        yield cell


def text(cell: Cell | None) -> tuple | None:
    """What a person writes into a cell; None for no cell."""
    return cell and (cell["cell_type"], "".join(cell["source"]), cell.get("attachments") or {})


def _without_outputs(cell: Cell) -> Cell:
    return {**cell, "execution_count": None, "outputs": []} if cell["cell_type"] == "code" else cell


def _named(cells: Iterable[Cell]) -> list[Cell]:
    """The cells, each with its own id: programs other than JupyterLab leave ids out, or repeat
    them.
    """
    named: dict[str, Cell] = {}
    for cell in cells:
        name = cell.get("id")
        if not isinstance(name, str) or name in named:
            name = uuid4().hex[:8]
        named[name] = {**cell, "id": name}
    return list(named.values())


def _woven(order: list[str], others: Sequence[str]) -> list[str]:
    """`order` with the `others` that it lacks, each after its nearest predecessor among the
    others.
    """
    woven = list(order)
    for at, name in enumerate(others):
        if name not in woven:
            before = next((other for other in reversed(others[:at]) if other in woven), None)
            woven.insert(woven.index(before) + 1 if before else 0, name)
    return woven
