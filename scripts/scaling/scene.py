"""A trial: services behind HAProxy, peers, and what disturbs them."""
import math
import os
import random
import signal
import socket
import subprocess
import threading
import time

from processes import FUNCTION, HANG_S, RUNS_PREPARED, Peer, Service

# Where HAProxy connects from: peers that go to a lane themselves bring no PROXY header.
BALANCER = "127.0.0.2"
KILL_EVERY_S, DOWN_S = 20, 2
STOP_EVERY_S, STOPPED_S = 60, 8


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [taken.getsockname()[1] for taken in sockets]
    for taken in sockets:
        taken.close()
    return ports


class Scene:
    """Everything of one trial, in a folder of its own."""

    def __init__(self, args, processes, folder):
        self.args, self.folder = args, folder
        self.think, self.seed = args.think, args.seed
        self.random = random.Random(f"{args.seed}")
        self.command = args.command
        self.prepared = RUNS_PREPARED * args.repeat
        self.children, self.over = [], threading.Event()
        self.disturbances, self.trouble = [], []
        ports = free_ports(2 * processes + 1)
        lanes = "abcdefgh"[:processes]
        self.services = [Service(self, *each) for each in zip(lanes, zip(ports, ports[processes:]))]
        self.peers = [Peer(self, number) for number in range(args.clients)]
        self.address = f"127.0.0.1:{ports[-1] if processes > 1 else ports[0]}"
        self.configure()

    def cores(self, lane):
        """The cores of a process, or of all else."""
        if not self.args.cores:
            return None
        each, all_cores = self.args.cores, sorted(os.sched_getaffinity(0))
        at = [service.lane for service in self.services].index(lane) * each if lane else None
        return all_cores[at : at + each] if lane else all_cores[each * self.args.most :]

    def start(self, command, lane=None, **more):
        if cores := self.cores(lane):
            command = ["taskset", "-c", ",".join(map(str, cores)), *command]
        child = subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, **more)
        self.children.append(child)
        return child

    def tacit(self, *arguments, timeout=None):
        command = [self.command, *arguments]
        if cores := self.cores(None):
            command = ["taskset", "-c", ",".join(map(str, cores)), *command]
        more = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
        return subprocess.run(command, cwd=self.folder, timeout=timeout, **more)

    def configure(self):
        write = lambda name, text: (self.folder / name).write_text(text)
        fingerprints = {}
        for name in ["alice", *(peer.name for peer in self.peers)]:
            made = self.tacit("keygen", "--out", f"{name}.key")
            fingerprints[name] = made.stdout.strip()
        for peer in self.peers:
            write(f"{peer.name}.toml", f'''
identity = "{peer.name}.key"
[stock]
folder = "stock-{peer.name}"
witness = "witness-{peer.name}"
[peers.alice]
fingerprint = "{fingerprints["alice"]}"
address = "{self.address}"
''')
        keys = "".join(f"{peer.name}) key={peer.key.hex()};; " for peer in self.peers)
        write("key.sh", f'case $TACIT_PEER in {keys}esac\necho "{{\\"key\\":\\"$key\\"}}"\n')
        for service in self.services:
            write(service.config, self.service_config(service, fingerprints))
        write("haproxy.cfg", self.balancer_config())

    def service_config(self, service, fingerprints):
        has_lanes = len(self.services) > 1
        homes = (f'{each.lane} = "127.0.0.1:{each.port}"\n' for each in self.services)
        peers = (f'{peer.name} = {{ fingerprint = "{fingerprints[peer.name]}" }}\n'
                 for peer in self.peers)
        return f'''
identity = "alice.key"
[stock]
folder = "stock-{service.lane}"
witness = "witness-{service.lane}"
{f'lane = "{service.lane}"' if has_lanes else ""}
[peers]
{"".join(peers)}
[serve]
listen = "127.0.0.1:{service.port}"
metrics = "127.0.0.1:{service.metrics}"
audit_file = "audit-{service.lane}.jsonl"
sessions = {4 * len(self.peers) + 16}
handshakes = {max(32, len(self.peers))}
arrivals = "6000/60s"
preparations = {max(2, len(self.peers))}
{f'proxy_from = ["{BALANCER}/32"]' if has_lanes else ""}
{"[serve.lanes]" if has_lanes else ""}
{"".join(homes) if has_lanes else ""}
[[serve.function]]
function = "{FUNCTION}"
role = "garbler"
protocols = ["prepared"]
inputs_command = ["sh", "key.sh"]
[[serve.stock]]
function = "{FUNCTION}"
role = "garbler"
runs = {2 * self.prepared}
refill_below = 1
'''

    def balancer_config(self):
        servers = (f"    server {each.lane} 127.0.0.1:{each.port} check port {each.metrics}\n"
                   for each in self.services)
        return f'''
global
    maxconn 4096
defaults
    mode tcp
    timeout connect 5s
    timeout client 10m
    timeout server 10m
    option redispatch
frontend tacit
    bind {self.address}
    default_backend processes
backend processes
    balance roundrobin
    option httpchk GET /readyz
    default-server inter 1s fall 2 rise 1 source {BALANCER} send-proxy-v2
{"".join(servers)}'''

    def play(self, seconds):
        """Lets the peers run for so long."""
        for service in self.services:
            service.start()
        if len(self.services) > 1:
            log = open(self.folder / "haproxy.log", "wb")
            self.start(["haproxy", "-db", "-f", "haproxy.cfg"], stdout=log, stderr=log)
        self.began = time.monotonic()
        for peer in self.peers:
            peer.start()
        if self.args.calm:
            time.sleep(seconds)
        else:
            self.disturb(seconds)
        self.over.set()
        self.ended = time.monotonic()
        for peer in self.peers:
            peer.join(HANG_S + 10)
        for service in self.services:
            service.stop()

    def disturb(self, seconds):
        """Kills, stops, copies and restores, at fixed times."""
        last = int(seconds // KILL_EVERY_S) - (seconds % KILL_EVERY_S == 0)
        plans = {1: ("copy", 0, False), last // 2: ("restore", 0, False)}
        plans[last // 2 + 1] = ("start over", 0, False)
        if last >= 12 and len(self.services) > 1:
            plans[last // 2 + 2] = ("copy", 1, True)
            plans[last - 3] = ("restore", 1, True)
            plans[last - 2] = ("start over", 1, True)
        if last < 3:
            plans = {}
        for kill in range(1, last + 1):
            self.wait_until(kill * KILL_EVERY_S)
            what, which, with_witness = plans.get(kill, ("kill", None, False))
            service = self.random.choice(self.services) if which is None else self.services[which]
            self.kill(service, what, with_witness)
            if kill * KILL_EVERY_S % STOP_EVERY_S == 0 and kill < last:
                self.wait_until((kill + 0.5) * KILL_EVERY_S)
                self.stop_for_a_while(self.random.choice(self.services))
        self.wait_until(seconds)

    def wait_until(self, second):
        time.sleep(max(0, self.began + second - time.monotonic()))

    def kill(self, service, what, with_witness):
        began = time.monotonic()
        service.kill()
        if what == "copy":
            service.keep_copy(with_witness)
        elif what == "restore":
            service.restore(with_witness)
        elif what == "start over":
            service.start_over()
            restored = next(each for each in self.disturbances if each["what"] == "restore"
                            and each["lane"] == service.lane)
            restored["ended"] = time.monotonic()
        time.sleep(max(0, began + DOWN_S - time.monotonic()))
        service.start()
        killed = {"lane": service.lane, "began": began, "ended": time.monotonic()}
        self.disturbances.append({"what": "kill", **killed})
        if what == "restore":
            witness = {"with_witness": with_witness}
            self.disturbances.append({"what": what, **killed, "ended": math.inf, **witness})

    def stop_for_a_while(self, service):
        began = time.monotonic()
        service.child.send_signal(signal.SIGSTOP)
        time.sleep(STOPPED_S)
        service.child.send_signal(signal.SIGCONT)
        stopped = {"lane": service.lane, "began": began, "ended": time.monotonic()}
        self.disturbances.append({"what": "stop", **stopped})

    def end(self):
        self.over.set()
        for child in self.children:
            if child.poll() is None:
                child.kill()
                child.wait()
