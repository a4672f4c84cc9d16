"""The processes of a trial: services, and peers that prepare and run."""
import json
import random
import re
import secrets
import shutil
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

from evidence import Evidence, lines_of

FUNCTION = "aes-128-rounds"
RUNS_PREPARED = 8
# A command that takes longer hangs: it exceeds every default time limit of `tacit`.
HANG_S = 150
# A peer that was told to start over with a process.
NEW_EPOCH = re.compile(r"`tacit (stock new-epoch --peer alice(?: --lane \w+)?)`")
TAKES = re.compile(r" takes (?P<numbers>.+) of (?P<digest>\S+) in epoch (?P<epoch>\S+)")


class Service:
    """One process of Alice's, with its lane's name."""

    def __init__(self, scene, lane, ports):
        self.scene, self.lane, (self.port, self.metrics) = scene, lane, ports
        self.child, self.starts = None, 0

    @property
    def config(self):
        return f"service-{self.lane}.toml"

    def start(self):
        self.starts += 1
        log = open(self.scene.folder / f"service-{self.lane}-{self.starts}.log", "wb")
        serve = ["serve", "-v", "--log", "json", "--config", self.config]
        self.child = self.scene.start([self.scene.command, *serve], self.lane, stderr=log)
        self.wait_until_ready()

    def wait_until_ready(self):
        end = time.monotonic() + 60
        while time.monotonic() < end and self.child.poll() is None:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.metrics}/readyz", timeout=2)
                return
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)
        log = self.scene.folder / f"service-{self.lane}-{self.starts}.log"
        raise SystemExit(f"scale: process {self.lane} does not start:\n{log.read_text()}")

    def kill(self):
        self.child.kill()
        self.child.wait()

    def stop(self):
        self.child.terminate()
        self.child.wait(60)

    def folders(self, with_witness):
        return [f"{kind}-{self.lane}" for kind in ["stock", "witness"][: 1 + with_witness]]

    def keep_copy(self, with_witness):
        for name in self.folders(with_witness):
            shutil.copytree(self.scene.folder / name, self.scene.folder / f"copy-{name}")

    def restore(self, with_witness):
        for name in self.folders(with_witness):
            shutil.rmtree(self.scene.folder / name)
            (self.scene.folder / f"copy-{name}").rename(self.scene.folder / name)

    def start_over(self):
        """What the runbook of a restored store tells the operator."""
        for peer in self.scene.peers:
            again = ["stock", "new-epoch", "--end-chains", "--peer", peer.name]
            ended = self.scene.tacit(*again, "--config", self.config)
            # The copy may be older than the stock with this peer.
            if ended.returncode and "there is no such stock" not in ended.stderr:
                raise SystemExit(f"scale: new-epoch in lane {self.lane}: {ended.stderr}")

    def events(self):
        """The lines of its logs; a kill may cut the last one of each."""
        for start in range(1, self.starts + 1):
            log = self.scene.folder / f"service-{self.lane}-{start}.log"
            yield from lines_of(log)

    def audited(self):
        return lines_of(self.scene.folder / f"audit-{self.lane}.jsonl")


class Peer(threading.Thread):
    """A party that prepares and runs in a loop."""

    def __init__(self, scene, number):
        super().__init__(daemon=True)
        self.scene, self.name = scene, f"peer{number}"
        self.random = random.Random(f"{scene.seed} {number}")
        self.actions, self.evidence, self.followed = [], Evidence(), 0
        self.key = secrets.token_bytes(16)
        self.blocks = [secrets.token_bytes(16) for _ in range(64)]
        encrypt = ["openssl", "enc", "-aes-128-ecb", "-nopad", "-K", self.key.hex()]
        told = subprocess.run(encrypt, input=b"".join(self.blocks), stdout=-1, check=True).stdout
        self.answers = [told[at : at + 16].hex() for at in range(0, len(told), 16)]

    def run(self):
        left = 0
        while not self.scene.over.is_set():
            if left <= 0:
                is_done = self.act("prepare", "--runs", str(self.scene.prepared))
                left = self.scene.prepared if is_done else 0
            else:
                self.run_once()
                left -= self.scene.args.repeat
            self.scene.over.wait(self.random.uniform(0, 2 * self.scene.think))

    def run_once(self):
        which = self.random.randrange(len(self.blocks))
        block = f"block={self.blocks[which].hex()}"
        more = ["--input", block, "--protocol", "prepared", "-vv", "--cost"]
        more += ["--repeat", str(self.scene.args.repeat)]
        self.act("run", *more, answer=self.answers[which])

    def act(self, command, *more, answer=None):
        """Runs a command, notes how it ended, and returns whether it was done."""
        began = time.monotonic()
        who = ["--config", f"{self.name}.toml", "--with", "alice", "--role", "evaluator", "--json"]
        try:
            ended = self.scene.tacit(command, FUNCTION, *more, *who, timeout=HANG_S)
            code, out, told = ended.returncode, ended.stdout, ended.stderr
        except subprocess.TimeoutExpired as hang:
            code, out, told = None, "", (hang.stderr or b"").decode()
        action = {"command": command, "peer": self.name, "code": code}
        action |= {"began": began, "ended": time.monotonic()}
        result = json.loads(out) if out else {}
        run = result.get("run") or session_of(told)
        action["run"] = run
        for takes in TAKES.finditer(told):
            kind = takes["digest"], takes["epoch"]
            self.evidence.take(self.name, run, kind, takes["numbers"])
        if code == 0 and answer:
            action["runs"] = result["runs_done"]
            action["runs_ms"] = [run["wall_us"] / 1e3 for run in result["cost"]["runs"]]
            action["is_right"] = result["outputs"] == {"ciphertext": answer}
        if code != 0:
            error = result.get("error", {})
            action |= {"reason": error.get("message", "hangs, or died"), "told": told}
            action["remedy"] = error.get("remedy") or ""
            self.follow(action["remedy"])
        self.actions.append(action)
        return code == 0

    def follow(self, remedy):
        """Does what an error says, if it names the command that starts over with a process."""
        if command := NEW_EPOCH.search(remedy):
            self.followed += 1
            ended = self.scene.tacit(*command[1].split(), "--config", f"{self.name}.toml")
            if ended.returncode:
                sys.stderr.write(f"{self.name}: {command[1]}: {ended.stderr}")
        self.scene.over.wait(0.5)


def session_of(told):
    """The session that a failed run names."""
    found = re.search(r"^session +(\w+),", told, re.MULTILINE)
    return found and found[1]
