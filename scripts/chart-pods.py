"""Starts rendered pods on this machine as a kubelet would, as far as that goes without a cluster.

Usage: chart-pods.py OBJECTS.yaml CLIENT.yaml TACIT   (scripts/chart --start calls it)

Each pod has a network namespace, mounts and processes of its own. What comes from the objects:
arguments, environment, user and groups, read-only root, volumes with owners and modes, probes,
addresses. What does not: seccomp, limits of resources, network policies, DNS (a hosts file has the
names).
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
# TEST-NET-1 of RFC 5737, inside of namespaces alone.
NETWORK, BRIDGE, SERVICE = "192.0.2", "192.0.2.1", "192.0.2.100"
KEY, BLOCK = "000102030405060708090a0b0c0d0e0f", "00112233445566778899aabbccddeeff"
# FIPS 197, appendix C.1.
CIPHERTEXT = "69c4e0d86a7b0430d8cdb78070b4c55a"
# In a pod's namespaces: its root from $1 at $2, read-only; $3 has a line `VOLUME PATH ro|rw` each.
ENTER = r"""
set -e
mount --bind "$1" "$2"
while read -r volume path mode; do
  mount --bind "$volume" "$2$path"
  [ "$mode" = rw ] || mount -o remount,bind,ro "$2$path"
done <"$3"
mount -t tmpfs -o mode=0755 tmpfs "$2/dev"
for device in null zero urandom; do
  touch "$2/dev/$device" && mount --bind /dev/$device "$2/dev/$device"
done
mkdir -m 1777 "$2/dev/shm"
mount -t proc proc "$2/proc"
[ "$4" = ro ] && mount -o remount,bind,ro "$2"
user=$5 group=$6 shown=$2
shift 6
exec setpriv --no-new-privs chroot --userspec="$user:$group" --groups="$group" "$shown" "$@"
"""


def sh(*command, **more):
    return subprocess.run(command, check=True, text=True, **more)


class Cluster:
    """The namespaces, the objects by kind and name, and the files of everything."""

    def __init__(self, objects, tacit, folder):
        self.folder, self.tacit, self.running, self.addresses = folder, tacit, [], {}
        self.objects = {(each["kind"], each["metadata"]["name"]): each for each in objects}
        self.image = self.build_image()
        # Names of namespaces are kept here.
        sh("mount", "-t", "tmpfs", "tmpfs", "/run")
        sh("ip", "link", "set", "lo", "up")
        sh("ip", "link", "add", "pods", "type", "bridge")
        for address in [BRIDGE, SERVICE]:
            sh("ip", "address", "add", f"{address}/24", "dev", "pods")
        sh("ip", "link", "set", "pods", "up")

    def build_image(self):
        """What packaging/Containerfile copies, and the libraries of a command that has some."""
        image = self.folder / "image"
        copied = re.search(r"^COPY (.+) /$", (ROOT / "packaging/Containerfile").read_text(), re.M)
        image.mkdir()
        for name in copied[1].split():
            # A release makes THIRD-PARTY.txt.
            source = self.tacit if name == "tacit" else ROOT / name
            if source.exists():
                shutil.copy(source, image / name)
        linked = subprocess.run(["ldd", self.tacit], text=True, capture_output=True).stdout
        for library in re.findall(r"(/\S+) \(0x", linked):
            place = image / library[1:]
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, place)
        return image

    def environment(self):
        told = (ROOT / "packaging/Containerfile").read_text()
        return re.search(r"^ENV (.+)$", told, re.M)[1].split()

    def address(self, pod):
        if pod not in self.addresses:
            number = 10 + len(self.addresses)
            self.addresses[pod] = f"{NETWORK}.{number}"
            sh("ip", "netns", "add", pod)
            inside, outside = f"in{number}", f"out{number}"
            sh("ip", "link", "add", outside, "type", "veth", "peer", "name", inside, "netns", pod)
            sh("ip", "link", "set", outside, "master", "pods", "up")
            sh("ip", "-n", pod, "address", "add", f"{NETWORK}.{number}/24", "dev", inside)
            for link in [inside, "lo"]:
                sh("ip", "-n", pod, "link", "set", link, "up")
        return self.addresses[pod]


class Pod:
    """A pod of this name after a template, with the folders of its volumes."""

    def __init__(self, cluster, name, template, claims=()):
        self.cluster, self.name, self.spec = cluster, name, template["spec"]
        self.security = self.spec["securityContext"]
        self.folder, self.starts = cluster.folder / name, 0
        self.address = cluster.address(name)
        self.volumes = {claim: self.claim(claim) for claim in claims}
        for volume in self.spec.get("volumes", []):
            self.volumes[volume["name"]] = self.volume(volume)

    def volume(self, volume):
        if "persistentVolumeClaim" in volume:
            return self.claim(volume["persistentVolumeClaim"]["claimName"])
        if "configMap" in volume:
            kind, name, mode = "ConfigMap", volume["configMap"]["name"], 0o644
        else:
            kind, name = "Secret", volume["secret"]["secretName"]
            mode = volume["secret"].get("defaultMode", 0o644)
        # A kubelet shows files as links through `..data`, which it can replace at once.
        shown = self.folder / volume["name"]
        (shown / "..1").mkdir(parents=True)
        (shown / "..data").symlink_to("..1")
        for name, text in self.cluster.objects[kind, name]["data"].items():
            file = shown / "..1" / name
            file.write_text(text)
            file.chmod(mode)
            (shown / name).symlink_to(f"..data/{name}")
        self.give_to_group(shown)
        return shown

    def claim(self, name):
        folder = self.folder / name
        folder.mkdir(parents=True)
        return folder

    def give_to_group(self, volume):
        """What a kubelet does for `fsGroup`."""
        group, of_root = self.security["fsGroup"], volume.stat()
        is_right = of_root.st_gid == group and of_root.st_mode & 0o2770 == 0o2770
        if self.security.get("fsGroupChangePolicy") == "OnRootMismatch" and is_right:
            return
        for path in [volume, *volume.rglob("*")]:
            if path.is_symlink():
                continue
            read_only = path.is_file() and not path.stat().st_mode & 0o200
            more = 0o440 if read_only else 0o660
            mode = path.stat().st_mode | more | (0o2110 if path.is_dir() else 0)
            os.chown(path, -1, group)
            path.chmod(mode)

    def start(self, container, **more):
        self.starts += 1
        root, shown = self.folder / f"root-{self.starts}", self.folder / "shown"
        shown.mkdir(exist_ok=True)
        shutil.copytree(self.cluster.image, root)
        hosts = self.cluster.folder / "hosts"
        mounts = [(hosts, "/etc/hosts", "ro")]
        for mount in container["volumeMounts"]:
            volume = self.volumes[mount["name"]]
            self.give_to_group(volume)
            mode = "ro" if mount.get("readOnly") else "rw"
            mounts.append((volume, mount["mountPath"], mode))
        for name in ["dev", "proc", "etc", *(path[1:] for _, path, _ in mounts[1:])]:
            (root / name).mkdir(parents=True, exist_ok=True)
        (root / "etc/hosts").touch()
        listed = self.folder / "mounts"
        listed.write_text("".join(f"{volume} {path} {mode}\n" for volume, path, mode in mounts))
        environment = dict(each.split("=") for each in self.cluster.environment())
        for each in container.get("env", []):
            assert each["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.name"
            environment[each["name"]] = self.name
        arguments = [re.sub(r"\$\((\w+)\)", lambda name: environment[name[1]], told)
                     for told in container["args"]]
        mode = "ro" if container["securityContext"]["readOnlyRootFilesystem"] else "rw"
        user = str(self.security["runAsUser"]), str(self.security["runAsGroup"])
        enter = ["ip", "netns", "exec", self.name, "unshare", "--mount", "--pid", "--ipc", "--fork",
                 "--kill-child", "bash", "-c", ENTER, "pod", root, shown, listed, mode, *user]
        return subprocess.Popen([*enter, "/tacit", *arguments], env=environment | {
            "PATH": os.environ["PATH"]}, **more)

    def probe(self, name, container):
        path = container[name]["httpGet"]["path"]
        port = next(port["containerPort"] for port in container["ports"]
                    if port["name"] == container[name]["httpGet"]["port"])
        try:
            return urllib.request.urlopen(f"http://{self.address}:{port}{path}", timeout=2).status
        except OSError as error:
            return getattr(error, "code", None)


class Lane(Pod):
    """A pod of the StatefulSet."""

    def begin(self):
        container = self.spec["containers"][0]
        log = open(self.folder / "log", "ab")
        self.process = self.start(container, stderr=log)
        self.wait_for("startupProbe", 200)
        self.wait_for("readinessProbe", 200)

    def wait_for(self, probe, status):
        end = time.monotonic() + 60
        while self.probe(probe, self.spec["containers"][0]) != status:
            if time.monotonic() > end or self.process.poll() is not None:
                self.fail(f"{probe} does not become {status}")
            time.sleep(0.05)
        if self.process.poll() is not None:
            self.fail("another process answers its probes")
        status = pathlib.Path(f"/proc/{self.first()}/status").read_text()
        user = self.security["runAsUser"]
        for expected in [f"Uid:\t{user}\t{user}", "NoNewPrivs:\t1", f"CapEff:\t{0:016x}"]:
            if expected not in status:
                self.fail(f"its first process is not of {expected}:\n{status}")

    def fail(self, why):
        sys.exit(f"chart: {self.name}: {why}:\n{(self.folder / 'log').read_text()}")

    def first(self):
        """The pod's first process, by its number outside."""
        return int(sh("pgrep", "-P", str(self.process.pid), capture_output=True).stdout)

    def signal(self, number):
        """Sends a signal to the first process, as a kubelet does, and waits for its end."""
        os.kill(self.first(), number)
        return self.process.wait(self.spec["terminationGracePeriodSeconds"])


def balance(cluster, lanes):
    """HAProxy in place of the Service: connections go to ready pods in turn."""
    server = "  server {0.name} {0.address}:7000 check port 9464\n"
    servers = "".join(server.format(lane) for lane in lanes)
    config = cluster.folder / "haproxy.cfg"
    config.write_text(f"""
defaults
  mode tcp
  timeout connect 5s
  timeout client 10m
  timeout server 10m
  option redispatch
listen tacit
  bind {SERVICE}:7000
  option httpchk GET /readyz
  default-server inter 500ms fall 1 rise 1
{servers}""")
    cluster.running.append(subprocess.Popen(["haproxy", "-db", "-f", config],
                                            stderr=open(cluster.folder / "haproxy.log", "wb")))


def job(cluster, spec, times):
    """The job of the other party: its init container, then its container."""
    pod = Pod(cluster, "bob", spec["spec"]["jobTemplate"]["spec"]["template"])
    for number in range(times):
        for container in [*pod.spec["initContainers"], *pod.spec["containers"]]:
            ended = pod.start(container, stdout=-1, stderr=-1)
            out, told = ended.communicate(timeout=120)
            if ended.returncode:
                sys.exit(f"chart: {container['name']} failed: {out.decode()} {told.decode()}")
        if json.loads(out)["outputs"] != {"ciphertext": CIPHERTEXT}:
            sys.exit(f"chart: a wrong result: {out.decode()}")
        yield number


def given(paths, tacit, folder):
    """The objects of the files, with real identities, and the Secrets that an operator makes."""
    texts, secrets = [pathlib.Path(path).read_text() for path in paths], {}
    for name in ["alice", "bob"]:
        key = folder / f"{name}.key"
        made = sh(tacit, "keygen", "--out", key, capture_output=True).stdout.strip()
        texts = [text.replace(f"{name.upper()}S-FINGERPRINT", made) for text in texts]
        secrets[name] = key.read_text()
    inputs = {"alice-inputs": {"key": KEY}, "bob-tacit": {"block": BLOCK}}
    files = {name: {"inputs.json": json.dumps(value)} for name, value in inputs.items()}
    files["alice-identity"] = {"identity.key": secrets["alice"]}
    files["bob-tacit"]["identity.key"] = secrets["bob"]
    objects = [each for text in texts for each in yaml.safe_load_all(text) if each]
    return objects + [{"kind": "Secret", "metadata": {"name": name}, "data": data}
                      for name, data in files.items()]


def trial(paths, tacit, folder):
    cluster = Cluster(given(paths, tacit, folder), tacit, folder)
    name, group = next((name, each["spec"]) for (kind, name), each in cluster.objects.items()
                       if kind == "StatefulSet")
    claims = [each["metadata"]["name"] for each in group["volumeClaimTemplates"]]
    lanes = [Lane(cluster, f"{name}-{number}", group["template"], claims)
             for number in range(group["replicas"])]
    cluster.address("bob")
    hosts = [f"{lane.address} {lane.name}.{group['serviceName']}.alice.svc\n" for lane in lanes]
    hosts += ["127.0.0.1 localhost\n", f"{SERVICE} tacit.alice.svc\n"]
    (folder / "hosts").write_text("".join(hosts))
    for lane in lanes:
        lane.begin()
    print(f"{len(lanes)} pods are ready as user 65532, with a read-only root")
    balance(cluster, lanes)
    time.sleep(2)
    jobs = job(cluster, cluster.objects["CronJob", "bob-tacit"], 6)
    for _ in range(3):
        next(jobs)
    print("the other party's job has prepared and run three times, with the right result")
    for lane in lanes:
        lane.signal(signal.SIGKILL)
        time.sleep(1.5)
        next(jobs)
        lane.begin()
        time.sleep(1)
    print("each pod was killed, the job ran meanwhile, and the pod came back to its volumes")
    codes = [lane.signal(signal.SIGTERM) for lane in lanes]
    if any(codes):
        sys.exit(f"chart: the pods end with {codes}")
    audits = [lane.folder / "stock/audit.jsonl" for lane in lanes]
    begun = [path.read_text().count('"begun"') if path.exists() else 0 for path in audits]
    print(f"SIGTERM ended each with code 0; runs in their audit logs: {begun}")


def main():
    if not os.environ.get("TACIT_CHART"):
        # All processes and namespaces end with the first process.
        alone = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        paths = [pathlib.Path(path).resolve() for path in sys.argv[1:]]
        environment = os.environ | {"TACIT_CHART": "1", "PATH": os.environ["PATH"] + ":/usr/sbin"}
        os.execvpe("unshare", [*alone, sys.executable, __file__, *map(str, paths)], environment)
    *paths, tacit = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="tacit-chart-") as folder:
        # The user of the pods passes through.
        os.chmod(folder, 0o755)
        trial(paths, pathlib.Path(tacit), pathlib.Path(folder))


if __name__ == "__main__":
    main()
