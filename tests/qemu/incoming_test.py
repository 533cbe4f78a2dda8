#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `vfsmend check` says of a QEMU file is what QEMU 10 and virtiofsd do with it.

Each try takes the tree and the state of a recorded case, damages the state further, puts it into the
stream of a machine that was never started, and lets a QEMU with a real daemon take that in. Its end
(the migration completes, or fails with a text in the daemon's log) has to be the predicted one.
A try is a number, the seed of all that is random in it.

  incoming_test.py --vfsmend PATH [--seed N] [--tries N] [--verbose] [--keep]     exit 77: cannot be played here
"""
import argparse
import glob
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FIXTURES = os.path.join(os.path.dirname(TESTS), "fixtures")
sys.path[:0] = [os.path.join(TESTS, "support"), FIXTURES, os.path.join(FIXTURES, "recorded")]
import containers  # noqa: E402
import damage  # noqa: E402
import qemu_process  # noqa: E402
import run_cases  # noqa: E402
import testbed  # noqa: E402
import tree  # noqa: E402
import virtiofsd  # noqa: E402

FEWEST_OF_A_KIND = 0.1  # a run that meets hardly any failure, or any success, shows nothing


def load_cases():
    cases = []
    for path in sorted(glob.glob(os.path.join(FIXTURES, "recorded", "virtiofsd-*.jsonl"))):
        with open(path) as lines:
            cases += [json.loads(line) for line in lines]
    return cases


def switches(case, policy):
    """of the daemon"""
    words = case["args"] + ["--migration-on-error", policy]
    if "--sandbox" not in words:
        words += ["--sandbox", "none"]
    if "--inode-file-handles" in words:  # the one switch that the daemon does not take in two words
        at = words.index("--inode-file-handles")
        words[at:at + 2] = ["=".join(words[at:at + 2])]
    return words


def predicted(tool, share, options, snapshot):
    """-> what the restore will do, as vfsmend says"""
    words = [tool, "check", "--format", "json", "--shared-dir", share, "--daemon-args", " ".join(options), snapshot]
    run = subprocess.run(words, capture_output=True, timeout=60)
    report = json.loads(run.stdout)
    if report["snapshot"]["container"] != "qemu":
        raise AssertionError(f"taken for {report['snapshot']['container']}")
    return report["devices"][0]["restore"]


def real(share, options, snapshot, base):
    """-> the same, as QEMU and the daemon do it"""
    with virtiofsd.Virtiofsd(share, os.path.join(base, "daemon"), options) as daemon:
        with qemu_process.Qemu(os.path.join(base, "qemu"), daemon, ["-S", "-serial", "null", "-incoming", "defer"]) as qemu:
            qemu.capabilities("x-ignore-shared")
            status, error = qemu.incoming(snapshot)
            running = qemu.command("query-status")["status"]
            qemu.quit()
        if status == "completed":
            if running != "prelaunch":
                raise AssertionError(f"completed, and the machine is {running}")
            return {"outcome": "succeeds", "error": daemon.load_error()}
        if qemu_process.REFUSED_BY_DAEMON not in qemu.log():
            raise AssertionError(f"QEMU failed for another reason: {error}: {qemu.log()}")
        return {"outcome": "fails", "error": daemon.load_error()}


def differences(want, got):
    """both are {"outcome", "error"}"""
    return [f"{key}: predicted {want.get(key)!r}, really {got[key]!r}" for key in ("outcome", "error")
            if want.get(key) != got[key]]


def inverted(restore):
    """the opposite prediction: a comparison that lets it pass would let everything pass"""
    return {"outcome": "fails" if restore["outcome"] == "succeeds" else "succeeds", "error": restore.get("error")}


def play(tool, cases, seed, base):
    """-> what really happened, what differs, and what was done to which case"""
    rng = random.Random(seed)
    policy = run_cases.POLICIES[seed % 2]
    data = None
    while data is None:
        case = rng.choice(cases)
        tree.remove(base)
        share, state, _ = run_cases.prepare(case, base)
        with open(state, "rb") as f:
            data, notes = damage.damage(rng, f.read())
    options = switches(case, policy)
    snapshot = os.path.join(base, "snapshot")
    containers.write(snapshot, containers.qemu_splice(gzip.open(containers.QEMU_SAMPLE).read(), data))
    want = predicted(tool, share, options, snapshot)
    got = real(share, options, snapshot, base)
    wrong = differences(want, got)
    if not wrong and not differences(inverted(want), got):
        wrong = ["the comparison lets the opposite pass too"]
    return got, wrong, f"{case['id']} {policy} {' '.join(notes)}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--vfsmend", required=True)
    parser.add_argument("--seed", type=int, default=1, help="of the first try")
    parser.add_argument("--tries", type=int, default=50)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--keep", action="store_true", help="leave the files of each try")
    a = parser.parse_args()
    why_not = testbed.why_not("virtiofsd-1.13.2", "qemu-system-x86_64")
    if why_not:
        print("skipped:", why_not)
        return 77
    cases, bad, begin = load_cases(), 0, time.monotonic()
    outcomes = {"succeeds": 0, "fails": 0}
    for seed in range(a.seed, a.seed + a.tries):
        base = os.path.realpath(tempfile.mkdtemp(prefix="vfsmend-qemu-"))
        note = ""
        try:
            got, wrong, note = play(a.vfsmend, cases, seed, base)
            outcomes[got["outcome"]] += 1
        except (AssertionError, OSError, ValueError, LookupError, subprocess.TimeoutExpired, qemu_process.QemuError) as e:
            got, wrong = None, [f"{type(e).__name__}: {e}"]
        finally:
            if a.keep:
                print(f"seed {seed}: {base}")
            else:
                tree.remove(base)
        bad += bool(wrong)
        if wrong:
            print(f"seed {seed}: {note}: {'; '.join(wrong)}")
            print(f"  replay: python3 {os.path.relpath(__file__)} --vfsmend {a.vfsmend} --seed {seed} --tries 1 --verbose --keep")
        elif a.verbose:
            print(f"seed {seed}: {note}: {got['outcome']} {got['error'] or ''}")
    print(f"{a.tries} tries, {bad} otherwise than predicted, {outcomes}, {time.monotonic() - begin:.1f} s")
    if a.tries >= 50 and min(outcomes.values()) < FEWEST_OF_A_KIND * a.tries:
        print("too few of one kind: this shows nothing")
        return 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
