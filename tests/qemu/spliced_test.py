#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A QEMU file into which the library put a state is what QEMU 10 loads, as `vfsmend check` predicts.

Of each recorded case with records that the source had lost (location Invalid), the state is put into
the stream of a machine that was never started, and refused by the daemon; then the same state without
these records is put into that file, which makes its chunks shorter and moves all that follows.

  spliced_test.py --vfsmend PATH --put-state PATH [--verbose]     exit 77: cannot be played here
"""
import argparse
import gzip
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import incoming_test  # noqa: E402  (it sets the path to what follows)
import containers  # noqa: E402
import qemu_process  # noqa: E402
import run_cases  # noqa: E402
import state_codec  # noqa: E402
import testbed  # noqa: E402
import tree  # noqa: E402

DEVICE = "0000:00:01.0"


def put(tool, snapshot, state, kept):
    """puts a state in, and holds the file against the one that another writer makes"""
    state_file = snapshot + ".state"
    containers.write(state_file, state)
    with open(snapshot, "rb") as f:
        want = containers.qemu_splice(f.read(), state)
    run = subprocess.run([tool, snapshot, kept, DEVICE, state_file], capture_output=True, text=True, timeout=60)
    if run.returncode:
        raise AssertionError(run.stderr)
    with open(snapshot, "rb") as f:
        if f.read() != want:
            raise AssertionError(f"{kept}: not the bytes that fixtures/containers.py writes")


def without_the_lost(data):
    """the same state without the records of location Invalid, those below them, and their handles"""
    state = state_codec.decode(data)
    gone = {i["id"] for i in state["inodes"] if i["loc"] == "invalid"}
    while more := {i["id"] for i in state["inodes"] if i.get("parent") in gone} - gone:
        gone |= more
    state["inodes"] = [i for i in state["inodes"] if i["id"] not in gone]
    state["handles"] = [h for h in state["handles"] if h["inode"] not in gone]
    return state_codec.encode(state)


def has_lost_some(case):
    return any(i["loc"] == "invalid" for i in case.get("state_json", {}).get("inodes", []))


def play(a, case, base):
    """-> outcomes before and after, what differs from the predictions"""
    share, state, _ = run_cases.prepare(case, base)
    with open(state, "rb") as f:
        data = f.read()
    snapshot, options = os.path.join(base, "snapshot"), incoming_test.switches(case, "abort")
    containers.write(snapshot, gzip.open(containers.QEMU_SAMPLE).read())
    outcomes, wrong = [], []
    for kept, now in (("pristine", data), ("refused", without_the_lost(data))):
        put(a.put_state, snapshot, now, kept)
        want = incoming_test.predicted(a.vfsmend, share, options, snapshot)
        got = incoming_test.real(share, options, snapshot, base)
        outcomes.append(got["outcome"])
        wrong += [f"{kept} replaced: {text}" for text in incoming_test.differences(want, got)]
    put(a.put_state, snapshot, data, "mended")
    put(a.put_state, snapshot, b"\1\0\2\0\0\0\0\0\0\0", "again")
    with open(snapshot, "rb") as now, open(os.path.join(base, "pristine"), "rb") as first:
        if now.read() != first.read():
            wrong.append("with its first state it is not the first file")
    return outcomes, wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--vfsmend", required=True)
    parser.add_argument("--put-state", required=True)
    parser.add_argument("--verbose", action="store_true")
    a = parser.parse_args()
    if why_not := testbed.why_not("virtiofsd-1.13.2", "qemu-system-x86_64"):
        print("skipped:", why_not)
        return 77
    cases = [case for case in incoming_test.load_cases() if has_lost_some(case)]
    bad = mended = 0
    for case in cases:
        base = os.path.realpath(tempfile.mkdtemp(prefix="vfsmend-qemu-"))
        try:
            outcomes, wrong = play(a, case, base)
            mended += outcomes == ["fails", "succeeds"]
        except (AssertionError, OSError, ValueError, LookupError, subprocess.TimeoutExpired, qemu_process.QemuError) as e:
            outcomes, wrong = None, [f"{type(e).__name__}: {e}"]
        finally:
            tree.remove(base)
        bad += bool(wrong)
        if wrong or a.verbose:
            print(f"{case['id']}: {outcomes} {'; '.join(wrong)}")
    print(f"{len(cases)} cases, {mended} refused before and loaded after, {bad} otherwise than predicted")
    return 1 if bad or not mended else 0


if __name__ == "__main__":
    sys.exit(main())
