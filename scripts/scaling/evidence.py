"""What the processes took from their stocks, and what a trial shows."""
import collections
import json
import math
import re


def spans(numbers):
    """The numbers of `NAME 3..5, 7..8`."""
    found = re.findall(r"(\d+)\.\.(\d+)(?:,|$)", numbers)
    return [number for first, end in found for number in range(int(first), int(end))]


def percentile(values, part):
    """The smallest value that `part` of all do not exceed."""
    return sorted(values)[math.ceil(part * len(values)) - 1] if values else None


def lines_of(path):
    for line in path.read_bytes().splitlines() if path.exists() else []:
        try:
            yield json.loads(line)
        except ValueError:
            continue


class Evidence:
    """The numbers that one party took, by kind and epoch."""

    def __init__(self):
        self.takers, self.by_run, self.twice = {}, collections.defaultdict(set), []

    def take(self, party, run, kind, numbers):
        for number in spans(numbers):
            taken = (party, *kind, number)
            if taken in self.takers:
                self.twice.append({"taken": taken, "runs": [self.takers[taken], run]})
            self.takers[taken] = run
            self.by_run[run].add(taken)


MUST_BE_ZERO = ["wrong_results", "used_twice", "differing_takes", "runs_not_in_one_audit_log",
                "runs_from_a_restored_copy", "restored_copies_not_refused"]


class Report:
    """What a trial shows."""

    def __init__(self, scene):
        self.scene = scene
        self.actions = [action for peer in scene.peers for action in peer.actions]
        self.services, self.lanes, audited = Evidence(), {}, collections.Counter()
        self.refusals = collections.Counter()
        for service in scene.services:
            for event in service.events():
                session = (event.get("run") or event.get("session") or "").split("-")[0]
                if session:
                    self.lanes[session] = service.lane
                if event["event"] == "takes":
                    kind = event["digest"], event["epoch"]
                    self.services.take(event["peer"], session, kind, event["numbers"])
                elif "old" in event.get("reason", ""):
                    self.refusals[service.lane] += 1
            begun = (line for line in service.audited() if line["event"] == "begun")
            audited.update(line["run"] for line in begun)
        self.done = [action for action in self.actions if "is_right" in action]
        self.audited = [audited[action["run"]] for action in self.done]

    def lane_of(self, action):
        """The process that a command was with, by its error or by the session's name."""
        told = re.match(r"with lane (\w+) of the peer", action.get("reason", ""))
        return told[1] if told else self.lanes.get((action["run"] or "").split("-")[0])

    def explanation(self, action):
        """The disturbance during which it failed: of its process, or of any if none is known."""
        lane, found = self.lane_of(action), []
        for each in self.scene.disturbances:
            is_near = each["began"] < action["ended"] and action["began"] < each["ended"] + 1
            # Each peer with material there is told to start over, once it comes.
            is_near |= each["what"] == "restore" and each["began"] < action["began"] \
                and action["code"] == 7
            if is_near and lane in (None, each["lane"]):
                found.append(each["what"])
        order = ["restore", "kill", "stop"]
        return min(found, key=order.index) if found else None

    def told(self):
        """Every command of a peer, with the process that it was with and its explanation."""
        for action in self.actions:
            why = self.explanation(action) if action["code"] != 0 else None
            action |= {"lane": self.lane_of(action), "explained_by": why}
        return sorted(self.actions, key=lambda action: action["began"])

    def failures(self):
        counts, first = collections.Counter(), {}
        for action in self.actions:
            if action["code"] != 0:
                reason = re.sub(r"[0-9a-f]{16,}|\d+", "N", action["reason"])
                kind = action["command"], action["code"], reason, self.explanation(action)
                counts[kind] += 1
                first.setdefault(kind, action)
        for kind, count in counts.most_common():
            fields = dict(zip(["command", "exit_code", "reason", "explained_by"], kind))
            slowest = max(action["ended"] - action["began"] for action in self.actions
                          if action.get("reason") == first[kind]["reason"])
            remedy = {"remedy": first[kind]["remedy"], "longest_s": round(slowest, 1)}
            yield fields | {"count": count} | remedy

    def used_twice(self):
        sides = [self.services, *(peer.evidence for peer in self.scene.peers)]
        return [each for side in sides for each in side.twice]

    def differing(self):
        """Runs with a result of which both logs have the numbers, and other ones."""
        found = 0
        for peer in self.scene.peers:
            for run, own in peer.evidence.by_run.items():
                theirs = self.services.by_run.get((run or "").split("-")[0])
                found += run and theirs is not None and own != theirs
        return found

    def old_material_taken(self):
        """Runs that ended well with a restored process, from an epoch of before."""
        born, found = {}, 0
        for action in sorted(self.done, key=lambda action: action["ended"]):
            peer = next(peer for peer in self.scene.peers if peer.name == action["peer"])
            epochs = {epoch for _, _, epoch, _ in peer.evidence.by_run[action["run"]]}
            for epoch in epochs:
                born.setdefault(epoch, action["began"])
            for each in self.scene.disturbances:
                if each["what"] == "restore" and each["lane"] == self.lane_of(action):
                    is_after = each["began"] < action["began"]
                    found += is_after and any(born[epoch] < each["began"] for epoch in epochs)
        return found

    def json(self):
        scene, seconds = self.scene, self.scene.ended - self.scene.began
        times = [action["ended"] - action["began"] for action in self.done]
        open_ms = [each for action in self.done for each in action["runs_ms"][1:]]
        counts = collections.Counter(each["what"] for each in scene.disturbances)
        prepared = [action for action in self.actions if action["command"] == "prepare"]
        runs = sum(action["runs"] for action in self.done)
        failures = list(self.failures())
        taken = sum(len(peer.evidence.takers) for peer in scene.peers)
        restored = {each["lane"] for each in scene.disturbances if each["what"] == "restore"}
        return {
            "version": 1, "processes": len(scene.services), "clients": len(scene.peers),
            "seconds": round(seconds, 1), "kills": counts["kill"], "stops": counts["stop"],
            "restores": counts["restore"],
            "runs": runs, "runs_per_second": round(runs / seconds, 2),
            "wrong_results": sum(not action["is_right"] for action in self.done),
            "taken_by_peers": taken, "taken_by_services": len(self.services.takers),
            "used_twice": len(self.used_twice()), "differing_takes": self.differing(),
            "runs_not_in_one_audit_log": sum(count != 1 for count in self.audited),
            "runs_from_a_restored_copy": self.old_material_taken(),
            "restored_copies_not_refused": sum(not self.refusals[lane] for lane in restored),
            "refusals_of_restored_copies": sum(self.refusals.values()),
            "started_over_as_told": sum(peer.followed for peer in scene.peers),
            "preparations": sum(action["code"] == 0 for action in prepared),
            "failed": sum(each["count"] for each in failures),
            "failed_unexplained": sum(each["count"] for each in failures
                                      if each["explained_by"] is None),
            "run_p50_s": percentile(times, 0.5), "run_p99_s": percentile(times, 0.99),
            "run_longest_s": max(times, default=None),
            "later_run_p50_ms": percentile(open_ms, 0.5),
            "later_run_p99_ms": percentile(open_ms, 0.99),
            "failures": failures,
        }
