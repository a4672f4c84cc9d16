#!/usr/bin/env python3
"""A matching in parts on two Ray clusters of several nodes, on this machine, with a worker killed.

    scripts/scaling/on_ray.py [--rows N] [--parts S] [--workers 1,2,4] [--calm] [--json]

Each party is a process with a Ray cluster of its own, of one node for each worker, on loopback;
both meet at a `tacit relay`. In the midst one worker of the first party gets SIGKILL. The rows of both
are compared with those of the tables. The exit status is 1 if any is wrong. Needs `ray` and the
package `tacit` in this Python; TACIT_COMMAND names the command. Minutes, and not part of CI.
"""
import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

# Both tables have rows of these multiples.
STEPS = {"alice": 2, "bob": 3}


def ids(party, rows):
    return [f"p{STEPS[party] * row}@example.org" for row in range(rows)]


def descendants():
    """The processes that this one started, and those that they started."""
    children = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(stat.parent.name))
    found = [os.getpid()]
    for each in found:
        found += children.get(each, [])
    return found[1:]


def kill_one_when_it_works(done):
    """Kills a worker of this party that runs a part, once another part is done."""
    while not done["killed"]:
        time.sleep(0.05)
        for process in descendants() if done["parts"] else []:
            try:
                title = pathlib.Path(f"/proc/{process}/cmdline").read_bytes()
            except OSError:
                continue
            if title.startswith(b"ray::Worker.do"):
                os.kill(process, signal.SIGKILL)
                done["killed"] = process
                break


def party(args):
    """One party: reads its table, and prints a line of JSON."""
    import ray
    import tacit.ray
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    for _ in range(args.count):
        cluster.add_node(num_cpus=1, object_store_memory=300 << 20)
    ray.init(address=cluster.address, log_to_driver=False)
    done = {"parts": 0, "killed": None}

    def progress(parts, of):
        done["parts"] = parts

    if args.kills:
        kills = threading.Thread(target=kill_one_when_it_works, args=(done,), daemon=True)
        kills.start()
    table = ids(args.party, args.rows)
    began = time.monotonic()
    found = tacit.ray.common(
        table, parts=args.parts, workers=args.count, threads=1, relay=args.relay,
        identity=f"{args.party}.key", peer=args.peer, progress=progress,
    )
    took = time.monotonic() - began
    step = 6 // STEPS[args.party]
    expected = [row for row in range(0, args.rows, step) if row * STEPS[args.party] < 2 * args.rows]
    print(json.dumps({"party": args.party, "s": round(took, 1), "found": len(found),
                      "is_right": found.tolist() == expected, "killed": done["killed"]}))
    ray.shutdown()
    cluster.shutdown()


def trial(args, count, relay, folder, fingerprints):
    """Both parties, with `count` workers each."""
    running = []
    for name, other in (("alice", "bob"), ("bob", "alice")):
        command = [sys.executable, str(pathlib.Path(__file__).resolve()), "--party", name]
        command += ["--rows", str(args.rows), "--parts", str(args.parts), "--count", str(count)]
        command += ["--relay", relay, "--peer", fingerprints[other]]
        command += ["--kills"] * (name == "alice" and not args.calm)
        # Ray runs workers at 15, so that other programs on this machine would hold them up.
        environment = {"RAY_worker_niceness": "0", **os.environ}
        errors = open(folder / f"{name}-{count}.log", "wb")
        child = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE,
                                 stderr=errors)
        running.append(child)
    told = [child.communicate()[0] for child in running]
    if any(child.returncode for child in running):
        logs = "\n".join(path.read_text() for path in sorted(folder.glob(f"*-{count}.log")))
        raise SystemExit(f"on_ray: a party failed\n{logs}")
    return [json.loads(line.splitlines()[-1]) for line in told]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--workers", default="1,2,4")
    parser.add_argument("--calm", action="store_true", help="kill nobody")
    parser.add_argument("--json", action="store_true")
    for name in ("party", "relay", "peer"):
        parser.add_argument(f"--{name}", help=argparse.SUPPRESS)
    parser.add_argument("--count", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--kills", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.party:
        return party(args)
    import tacit

    command = os.environ.get("TACIT_COMMAND", "tacit")
    is_right = True
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        keys = {party: tacit.Identity.open(folder / f"{party}.key") for party in STEPS}
        fingerprints = {party: key.fingerprint for party, key in keys.items()}
        relay = subprocess.Popen([command, "relay", "--listen", "127.0.0.1:0"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            address = relay.stderr.readline().split()[-1]
            for count in map(int, args.workers.split(",")):
                for told in trial(args, count, address, folder, fingerprints):
                    is_right &= told["is_right"]
                    row = {"workers": count, "parts": args.parts, "rows": args.rows, **told}
                    print(json.dumps(row) if args.json else row, flush=True)
        finally:
            relay.terminate()
    sys.exit(not is_right)


if __name__ == "__main__":
    main()
