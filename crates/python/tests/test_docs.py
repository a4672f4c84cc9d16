"""Every example of docs/python.md runs, and prints what the page says."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import tacit

from examples import BLOCKS, PAGE

SCRIPTS = [block for block in BLOCKS if block.startswith("# ")]
PAIRS = list(zip(SCRIPTS[::2], SCRIPTS[1::2]))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What the page takes as given."""
    for name in ("registry", "shop", "seller", "buyer"):
        identity = tacit.Identity.open(tmp_path / f"{name}.key")
        (tmp_path / f"{name}.fingerprint").write_text(identity.fingerprint)
    tables = re.findall(r"^```csv\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    for name, table in zip(("people", "sales"), tables, strict=True):
        (tmp_path / f"{name}.csv").write_text(table)
    auction = next(block for block in BLOCKS if "parties seller" in block)
    (tmp_path / "auction.tacit").write_text(auction.split('"""')[1])
    return tmp_path


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return str(free.getsockname()[1])


@pytest.mark.parametrize("pair", PAIRS, ids=[pair[0].split()[1] for pair in PAIRS])
def test_the_scripts_of_two_parties_run_and_agree(folder: Path, pair: tuple[str, str]) -> None:
    port = free_port()
    environment = {**os.environ, "XDG_DATA_HOME": ""}
    outputs = []
    running = []
    for number, script in enumerate(pair):
        own = {**environment, "XDG_DATA_HOME": str(folder / f"data{number}")}
        command = [sys.executable, "-c", script.replace("7000", port)]
        running.append(
            subprocess.Popen(command, cwd=folder, env=own, stdout=subprocess.PIPE, text=True)
        )
    for process in running:
        outputs.append(process.communicate(timeout=100)[0])
        assert process.returncode == 0
    assert outputs[0] == outputs[1]
    assert outputs[0] == "" or outputs[0] in ("[5 6 6]\n", text_of_the_page())


def text_of_the_page() -> str:
    found = re.search(r"^```text\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


@pytest.mark.parametrize("block", [block for block in BLOCKS if block not in SCRIPTS])
def test_an_example_in_one_process_runs(folder: Path, block: str) -> None:
    exec(compile(block.replace("7000", free_port()), str(PAGE), "exec"), {})
