"""The examples: of docs/python.md, and of the notebooks.

As a program it writes them into a folder, for `mypy` and `pyright`: `examples.py FOLDER`.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
PAGE = PACKAGE.parents[1] / "docs" / "python.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
NOTEBOOKS = sorted((PACKAGE / "notebooks").glob("*.ipynb"))


def code(notebook: Path) -> str:
    """A notebook's cells, one after the other. An expression at a cell's end is shown there."""
    cells = json.loads(notebook.read_text())["cells"]
    code = ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    return "\n\n".join(code) + "\n"


def write(folder: Path) -> None:
    (folder / "page").mkdir(parents=True)
    (folder / "notebooks").mkdir()
    for number, block in enumerate(BLOCKS):
        (folder / "page" / f"example_{number}.py").write_text(block)
    for notebook in NOTEBOOKS:
        (folder / "notebooks" / f"{notebook.stem}.py").write_text(code(notebook))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
