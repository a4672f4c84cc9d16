#!/usr/bin/env python3
"""A simulation of one job that 1 to 1,000 workers of each party run in parts.

It runs no protocol and starts no process. It adds up what was measured of single parts, in
docs/benchmarks.md, and shows where more workers stop helping, and what a job costs. Times are those
of a 16-core Intel Xeon over loopback; every number that nobody measured says so.

    python3 scripts/scaling/workers.py            a table for docs/processes.md
    python3 scripts/scaling/workers.py --json     the same, a line of JSON for each row
"""
import argparse
import heapq
import json
import math
import random

# Matching, silent OT, two cores a worker: 10^7 keys in one command take 13.8 s and 1,211 MB, and
# one of four parts 22.8 / 4 s and 469 MB ("In parts"). Both are of the form a + b * keys.
ROW_READ_S = (22.8 / 4 - 13.8 / 4) / 0.75 / 1e7
KEY_MATCHED_S = 13.8 / 1e7 - ROW_READ_S
KEY_BYTES_OF_MEMORY = (1211 - 469) * 1e6 / 7.5e6
MEMORY_BYTES = 1211e6 - 1e7 * KEY_BYTES_OF_MEMORY
# Both ways, 30.4 MB for 1,048,576 keys of each party.
KEY_BYTES = 30.4e6 / 1_048_576
# A whole join of 10,000 rows: more than what a session takes to begin.
BEGIN_S = 0.16
# The same command took 14.3 to 20.4 s within minutes.
SPREAD = 0.18
MOST_KEYS, MOST_PARTS = 1 << 26, 1 << 12

# Seconds of a core of each party, bytes both ways, and their share in the busier direction, of an
# AND gate. The garbler sends almost all bytes of `direct`.
AND_GATES = {
    # 10 million AND gates take 166 ms; two ciphertexts of 16 bytes.
    "direct": (16.6e-9, 32, 1),
    # Crosses of both directions, and evaluating in groups of 64; 5.47 bits.
    "gmw, silent": (136e-9 + 1.64e-9, 5.47 / 8, 0.5),
    # 160 blocks of AES-128: 9.8 MB, where `direct` takes 33.3 MB.
    "gmw, softspoken-2": (18.7e-9 + 1.64e-9, 32 * 9.8 / 33.3, 0.5),
}

# List prices without discounts, tax or free tiers, in EUR.
# 16 vCPU and 64 GB, m6a.4xlarge in eu-central-1: 542.93 EUR for 730 hours, on 2026-10-28
# (https://github.com/moveinfra/eu-cloud-prices, from the provider's price list). Two vCPU count as
# a core here.
CORE_HOUR = 542.93 / 730 / 8
# To the internet: 0.12 USD a GiB, of the first TiB a month to North America, on 2026-09-20
# (https://cloud.google.com/vpc/network-pricing); between zones of a region: 0.01 USD. 1 EUR was
# 1.1133 USD on 2026-10-28 (European Central Bank).
INTERNET_BYTE = 0.12 / 1.1133 / 2**30
ZONE_BYTE = 0.01 / 1.1133 / 2**30


def filled(keys, parts):
    """The number of keys as which a part counts; crates/function/src/join/part.rs."""
    if parts == 1:
        return keys
    lost = 30 + math.ceil(math.log2(parts))
    return min(keys, -(-keys // parts) + math.isqrt(2 * keys * lost // parts) + 1 + lost)


def seconds(workers, parts, part_s, args):
    """The time until all parts are done: each pair of workers takes the next part. An attempt that
    fails, at a random time, is made again."""
    draw = random.Random(f"{args.seed} {workers} {parts}")
    free = [0.0] * workers
    left = parts
    while left:
        begun = heapq.heappop(free)
        took = part_s * draw.uniform(1 - SPREAD, 1 + SPREAD)
        if draw.random() < args.failing:
            took *= draw.random()
        else:
            left -= 1
        heapq.heappush(free, begun + took)
    return max(free)


def matching(workers, args, is_cut):
    """A matching of 10^9 keys a side. A part reads the whole table, unless that is cut already."""
    keys = args.keys
    least = 1
    while filled(keys, least) > MOST_KEYS:
        least += 1
    parts = min(MOST_PARTS, workers * -(-least // workers))
    of_part = filled(keys, parts)
    read = keys / parts if is_cut else keys
    part_s = BEGIN_S + read * ROW_READ_S + of_part * KEY_MATCHED_S
    return {
        "job": f"match of {keys:.0e} keys" + (", tables cut before" if is_cut else ""),
        "parts": parts, "part_s": part_s, "cores": 2,
        "bytes": parts * of_part * KEY_BYTES, "one_way": 0.5,
        "memory_bytes": MEMORY_BYTES + of_part * KEY_BYTES_OF_MEMORY,
    }


def gates(workers, args, protocol):
    """10^12 AND gates in calls that need nothing of each other, a core for each worker."""
    core_s, and_bytes, one_way = AND_GATES[protocol]
    parts = max(workers, 1000)
    return {
        "job": f"{args.ands:.0e} AND gates, {protocol}",
        "parts": parts, "part_s": BEGIN_S + args.ands / parts * core_s, "cores": 1,
        "bytes": args.ands * and_bytes, "one_way": one_way,
    }


def simulated(job, workers, args):
    busy_s = seconds(workers, job["parts"], job["part_s"], args)
    link_s = job["bytes"] * job["one_way"] / (args.link_gbit * 1e9 / 8)
    whole_s = max(busy_s, link_s)
    core_hours = workers * job["cores"] * whole_s / 3600
    return job | {
        "workers": workers, "busy_s": busy_s, "link_s": link_s, "s": whole_s,
        "bound_by": "the link" if link_s > busy_s else "workers",
        "core_hours_a_party": core_hours, "eur_compute_a_party": core_hours * CORE_HOUR,
        "eur_internet_both": job["bytes"] * INTERNET_BYTE,
        "eur_zones_both": job["bytes"] * ZONE_BYTE,
    }


def rows(args):
    makers = [lambda n: matching(n, args, False), lambda n: matching(n, args, True)]
    makers += [lambda n, by=by: gates(n, args, by) for by in AND_GATES]
    for make in makers:
        for workers in args.workers:
            yield simulated(make(workers), workers, args)


def text(row):
    shown = f"{row['s']:,.0f}" if row["s"] >= 10 else f"{row['s']:.1f}"
    return (f"| {row['job']} | {row['workers']:,} | {row['parts']:,} | {shown} | {row['bound_by']} "
            f"| {row['core_hours_a_party']:,.1f} | {row['bytes'] / 1e9:,.0f} "
            f"| {row['eur_compute_a_party']:,.2f} | {row['eur_internet_both']:,.2f} "
            f"| {row['eur_zones_both']:,.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 10, 30, 100, 300, 1000])
    parser.add_argument("--keys", type=int, default=10**9)
    parser.add_argument("--ands", type=int, default=10**12)
    parser.add_argument("--link-gbit", type=float, default=10,
                        help="the link between the parties, each way; assumed")
    parser.add_argument("--failing", type=float, default=0.01,
                        help="the share of attempts at a part that fail; assumed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if not args.json:
        print("| job | workers a side | parts | s | bound by | core hours a party | GB both ways "
              "| EUR of cores a party | EUR of bytes, internet | between zones |")
        print("|---|---:|---:|---:|---|---:|---:|---:|---:|---:|")
    for row in rows(args):
        print(json.dumps(row) if args.json else text(row))


if __name__ == "__main__":
    main()
