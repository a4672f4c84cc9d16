"""Measures the Python package on this machine: `scripts/python figures`.

A call's overhead is what a run takes in a loop of Python less what it takes in the command's loop,
`tacit run --repeat`, each between two processes over TLS on loopback. The loops take turns, so that
both see the same machine. The other figures are of an intersection with sums, with its DataFrames
and in processes of its own, on loopback and through a relay that delays and paces bytes; and of
values on their way into the library and back, without another party.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import queue
import resource
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import tacit

ROUNDS = 5
"""How often the loops of Rust and of Python take turns."""

DELAY_S, BITS_PER_S = 0.0005, 1e9
"""The imitated link: one way, and its rate each way."""

SLACK_S = 0.005
"""How much later than its turn a chunk may come without a loss of rate: no sleep is exact."""

CHUNK_BYTES = 1 << 18


class Call(NamedTuple):
    """A function that is called many times over one session."""

    name: str
    params: dict[str, Any]
    left: dict[str, Any]
    right: dict[str, Any]
    repeat: int


def calls(quick: bool) -> list[Call]:
    zeros = [bytes(16)] * 160
    return [
        Call("millionaires", {"bits": 32}, {"a": 41}, {"b": 40}, 50 if quick else 1000),
        Call(
            "aes-128-copies",
            {"copies": 160},
            {"keys": zeros},
            {"blocks": zeros},
            3 if quick else 20,
        ),
    ]


class Party(NamedTuple):
    """One of two, with what it needs to meet the other."""

    key: str
    peer: str
    stock: str
    address: str
    listens: bool

    def meet(self) -> tacit.Session:
        way = tacit.listen if self.listens else tacit.connect
        return way(
            self.address,
            identity=self.key,
            peer=self.peer,
            stock=self.stock,
        )


def parties(folder: Path, relayed: bool = False) -> tuple[Party, Party]:
    """Two parties that meet on loopback, or through a relay that `shaped` runs."""
    keys = [folder / "left.key", folder / "right.key"]
    prints = [tacit.Identity.open(key).fingerprint for key in keys]
    address = free_address()
    behind = free_address() if relayed else address
    return (
        Party(str(keys[0]), prints[1], str(folder / "left"), behind, True),
        Party(str(keys[1]), prints[0], str(folder / "right"), address, False),
    )


def free_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"127.0.0.1:{free.getsockname()[1]}"


def both(task: Callable[..., Any], ends: tuple[Party, Party], *given: Any) -> tuple[Any, Any]:
    """What `task` says at each party, each in a process of its own."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(2, maxtasksperchild=1) as pool:
        tasks = [(party, *given) for party in ends]
        left, right = pool.starmap(task, tasks, chunksize=1)
    return left, right


def loop(party: Party, call: Call) -> list[float]:
    """Seconds of each call in a loop of Python."""
    function = tacit.function(call.name, **call.params)
    inputs = call.left if party.listens else call.right
    took = []
    with party.meet() as session:
        for _ in range(call.repeat):
            began = time.perf_counter()
            session.run(function, inputs)
            took.append(time.perf_counter() - began)
    return took[1:]  # The first has the base OTs.


def rust_loop(command: str, ends: tuple[Party, Party], call: Call) -> list[float]:
    """Seconds of each run in the command's loop, at the party that connects."""
    running = []
    for party, inputs in zip(ends, (call.left, call.right)):
        words = [command, "run", call.name, "--identity", party.key, "--peer", party.peer]
        words += ["--role", "garbler", "--listen"] if party.listens else []
        words += [] if party.listens else ["--role", "evaluator", "--connect"]
        words += [party.address, "--repeat", str(call.repeat), "--cost", "--json"]
        for name, number in call.params.items():
            words += ["--param", f"{name}={number}"]
        for name, value in inputs.items():
            text = json.dumps(value, default=bytes.hex)
            words += ["--input", f"{name}={text}"]
        running.append(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
    outputs = [process.communicate()[0] for process in running]
    if any(process.returncode for process in running):
        raise SystemExit("figures: the command failed; see above")
    runs = json.loads(outputs[1])["cost"]["runs"]
    return [run["wall_us"] / 1e6 for run in runs[1:]]


def overhead(command: str, folder: Path, call: Call) -> dict[str, Any]:
    """What a call takes in Python and in Rust."""
    python: list[float] = []
    rust: list[float] = []
    for _ in range(ROUNDS):
        rust += rust_loop(command, parties(folder), call)
        python += both(loop, parties(folder), call)[1]
    there, here = statistics.median(rust), statistics.median(python)
    return {
        "measured": "call",
        "function": call.name,
        "calls": len(python),
        "rust_median_ms": there * 1e3,
        "python_median_ms": here * 1e3,
        "overhead_ms": (here - there) * 1e3,
        "overhead_percent": 100 * (here / there - 1),
        "rust_least_ms": min(rust) * 1e3,
        "python_least_ms": min(python) * 1e3,
    }


def tables(rows: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two tables with half of their ids in common."""
    ids = pd.Series(range(rows)) * 7 + 1
    return (
        pd.DataFrame({"customer": ids}),
        pd.DataFrame({"customer": ids + 7 * (rows // 2), "cents": ids % 1000}),
    )


def intersect(party: Party, rows: int) -> dict[str, float]:
    """An intersection with sums, from DataFrames to the result."""
    frame = tables(rows)[0 if party.listens else 1]
    began = time.perf_counter()
    job = tacit.jobs.intersection(rows=rows)
    made = time.perf_counter()
    with party.meet() as session:
        met = time.perf_counter()
        if party.listens:
            result = job.run(session, frame, party="left", id="customer")
        else:
            result = job.run(session, frame, party="right", id="customer", amount="cents")
        took = time.perf_counter() - met
    return {
        "count": int(result["count"]),
        "total": int(result["total"]),
        "job_s": made - began,
        "run_s": took,
        "protocol_s": sum(phase["seconds"] for phase in result.outcome.cost),
        "bytes_sent": sum(phase["bytes_sent"] for phase in result.outcome.cost),
        "and_gates": job.function.and_gates,
        "memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def intersection(folder: Path, rows: int, relayed: bool) -> dict[str, Any]:
    ends = parties(folder, relayed)
    if relayed:
        shaped(ends[1].address, ends[0].address)
    left, right = both(intersect, ends, rows)
    cents = tables(rows)[0].merge(tables(rows)[1], on="customer")["cents"].tolist()
    expected = (len(cents), sum(cents))
    if any((end["count"], end["total"]) != expected for end in (left, right)):
        raise SystemExit(f"figures: the result is {left}, {right}, and not {expected}")
    slower = max(left, right, key=lambda end: end["run_s"])
    return {
        "measured": "intersection",
        "rows": rows,
        "link": f"{DELAY_S * 1e6:.0f}us,{BITS_PER_S / 1e9:.0f}gbit" if relayed else "loopback",
        "and_gates": left["and_gates"],
        "job_s": slower["job_s"],
        "run_s": slower["run_s"],
        "outside_the_protocol_s": slower["run_s"] - slower["protocol_s"],
        "left_sent_bytes": left["bytes_sent"],
        "right_sent_bytes": right["bytes_sent"],
        "left_memory_bytes": left["memory_bytes"],
        "right_memory_bytes": right["memory_bytes"],
    }


def values(count: int) -> Iterator[dict[str, Any]]:
    """What it takes to read `count` values of type u32, and to run a function that gives them back
    in the clear."""
    source = "parties a, b;\nmain(x: [{0}; N] of a, y: bool of b) -> (x: [{0}; N] to both) {{ x }}"
    source = source.replace("parties a, b;", f"parties a, b;\nconst N = {count};")
    same = tacit.function(source.format("u32"))
    # The last value does not fit, so that all are read and no more is done.
    refused = tacit.function(source.format("u31"))
    numbers = np.random.default_rng(1).integers(0, 2**31, count, dtype=np.uint32)
    numbers[-1] = 2**31
    given = {"NumPy": numbers, "pandas": pd.Series(numbers), "Polars": pl.Series(numbers)}
    for package, column in {**given, "list": numbers.tolist()}.items():
        reads, runs = [], []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            with contextlib.suppress(tacit.errors.InputError):
                refused.eval(column, False)
            read = time.perf_counter()
            result = same.eval(column, False)
            runs.append(time.perf_counter() - read)
            reads.append(read - began)
            if not np.array_equal(result, numbers):
                raise SystemExit("figures: other values came back")
        yield {
            "measured": "values",
            "from": package,
            "values": count,
            "read_median_s": statistics.median(reads),
            "run_in_the_clear_median_s": statistics.median(runs),
        }


def shaped(address: str, behind: str) -> None:
    """Starts a relay from `address` to `behind` over the imitated link, which ends with this
    program."""
    process = multiprocessing.get_context("spawn").Process(
        target=relay, args=(address, behind), daemon=True
    )
    process.start()


def relay(address: str, behind: str) -> None:
    host, port = address.split(":")
    with socket.create_server((host, int(port))) as server:
        client, _ = server.accept()
    host, port = behind.split(":")
    while True:
        try:
            target = socket.create_connection((host, int(port)))
            break
        except ConnectionRefusedError:
            time.sleep(0.01)
    for end in (client, target):
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    back = threading.Thread(target=carry, args=(target, client))
    back.start()
    carry(client, target)
    back.join()


def carry(source: socket.socket, target: socket.socket) -> None:
    """Bytes go into the link at its rate, and come out one delay later."""
    due: queue.Queue[tuple[float, bytes]] = queue.Queue()

    def deliver() -> None:
        while True:
            at, chunk = due.get()
            time.sleep(max(0, at - time.monotonic()))
            # A party that is done has left: there is nobody to whom the rest goes.
            with contextlib.suppress(OSError):
                target.sendall(chunk) if chunk else target.shutdown(socket.SHUT_WR)
            if not chunk:
                return

    threading.Thread(target=deliver).start()
    free = 0.0
    while True:
        try:
            chunk = source.recv(CHUNK_BYTES)
        except OSError:
            chunk = b""
        free = max(free, time.monotonic() - SLACK_S) + len(chunk) * 8 / BITS_PER_S
        due.put((free + DELAY_S, chunk))
        if not chunk:
            return
        # A link that is full takes no more.
        time.sleep(max(0, free - time.monotonic()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tacit", default="tacit", help="the command, of the same build")
    parser.add_argument("--rows", type=int, default=10_000, help="rows of each table")
    parser.add_argument("--quick", action="store_true", help="few calls, to see that it works")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for call in calls(options.quick):
            print(json.dumps(overhead(options.tacit, folder, call)), flush=True)
        for figure in values(10_000 if options.quick else 1_000_000):
            print(json.dumps(figure), flush=True)
        for relayed in (False, True):
            print(json.dumps(intersection(folder, options.rows, relayed)), flush=True)


if __name__ == "__main__":
    main()
