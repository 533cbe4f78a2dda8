#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program itself, killed: by SIGKILL at each call with which `repair` and `undo` change something, in any
of its processes, and at random moments. The snapshot is the original or the repaired file, and undo and
another repair get along with whatever lies there.

  kill_test.py --vfsmend PATH [--seed N] [TEST]...      exit 77: cannot be played here
"""
import collections
import fcntl
import glob
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

# Of a repair and of its undoing. The names of an architecture that has no renameat are those that strace
# takes for it.
CHANGING = ("openat", "pwrite64", "copy_file_range", "ftruncate", "fchmod", "fchown", "fremovexattr", "fsync",
            "linkat", "renameat", "unlinkat")
# Format v2: the root, inode 2 at "a", inode 3 at "gone", a next id that is taken.
STATE = (bytes([1, 3, 1, 4, 0, 0, 2, 1, 1, 1, 1, ord("a"), 0, 3, 1, 1, 1, 4]) + b"gone"
         + bytes([0, 2, 0, 0, 0, 1, 0, 0, 0]))
ROUNDS, SEED = 50, 20261201
TOOL = None


class Killed(unittest.TestCase):
    """of a raw state"""
    NAME, BEHIND = "state", 8 << 20  # bytes that no reader looks at: to read them takes a while

    def content(self, state):
        return state

    def operand(self):
        return self.file

    def setUp(self):
        self.base = os.path.realpath(tempfile.mkdtemp(prefix="vfsmend-kill-"))
        self.addCleanup(shutil.rmtree, self.base)
        self.folder, share = os.path.join(self.base, "snapshot"), os.path.join(self.base, "share")
        for name in (self.folder, share):
            os.mkdir(name)
        open(os.path.join(share, "a"), "wb").close()
        self.file = os.path.join(self.folder, self.NAME)
        self.repair = [TOOL, "repair", "-y", "--shared-dir", share, self.operand()]
        self.original = self.content(STATE)
        self.start()
        self.run_to_its_end(self.repair, 1)
        self.repaired = self.read(self.file)
        self.assertNotEqual(self.repaired, self.original)

    def start(self, original=None):
        for name in os.listdir(self.folder):
            os.unlink(os.path.join(self.folder, name))
        self.original = original or self.original
        with open(self.file, "wb") as f:
            f.write(self.original)

    def read(self, path):
        with open(path, "rb") as f:
            return f.read()

    def run_to_its_end(self, words, *statuses):
        done = subprocess.run(words, capture_output=True, timeout=60, start_new_session=True)
        self.assertIn(done.returncode, statuses, (words, done.stdout[-2000:], done.stderr[-2000:]))
        return done

    def wait_for_the_worker(self):
        """it is killed with its parent, but not before the parent is gone"""
        fd = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
        finally:
            os.close(fd)

    def journals(self):
        return sorted(name for name in glob.glob(self.file + ".vfsmend-journal*")
                      if re.search(r"journal(-\d+)?$", name))

    def state_now(self, what):
        now = self.read(self.file)
        self.assertIn(now, (self.original, self.repaired), what)
        if now == self.repaired:
            kept = [self.read(name) for name in glob.glob(self.file + ".vfsmend-original*")]
            self.assertIn(self.original, kept, what + ": the original is lost")
            self.assertTrue(self.journals(), what + ": nothing leads back")
        return "original" if now == self.original else "repaired"

    def undo_all(self, what):
        for journal in reversed(self.journals()):
            self.run_to_its_end([TOOL, "undo", journal], 0)
        self.assertEqual(self.read(self.file), self.original, what)
        self.assertEqual(self.journals(), [], what)

    def expect_ways_out(self, what):
        """-> which of the two the kill left"""
        self.wait_for_the_worker()
        left = self.state_now(what)
        # Again, over what was left; then all of it taken back.
        self.run_to_its_end(self.repair, 0, 1)
        self.assertEqual(self.read(self.file), self.repaired, what)
        self.state_now(what)
        self.undo_all(what)
        return left

    def kill_at_each_call(self, words, prepare):
        """-> how often each of the two was left"""
        seen = collections.Counter()
        for call in CHANGING:
            for nth in range(1, 200):
                prepare()
                what = f"killed at {call} {nth}"
                log = os.path.join(self.base, "log")
                done = subprocess.run(["strace", "-f", "-qq", "-o", log, "-e", f"trace={call}",
                                       "-e", f"inject={call}:signal=SIGKILL:when={nth}"] + words(),
                                      capture_output=True, timeout=60)
                left = self.expect_ways_out(what)
                with open(log, encoding="utf-8") as f:
                    if "killed by SIGKILL" not in f.read():
                        break
                self.assertNotIn(done.returncode, (0, 1), what)
                seen[left] += 1
            else:
                self.fail(f"{call}: never done")
        print(f"killed at a call: {sum(seen.values())} times, left {dict(seen)}")
        return seen

    def test_at_each_call_of_a_repair(self):
        seen = self.kill_at_each_call(lambda: self.repair, self.start)
        self.assertGreaterEqual(seen["original"], 5, seen)
        self.assertGreaterEqual(seen["repaired"], 1, seen)

    def test_at_each_call_of_an_undoing(self):
        def prepare():
            self.start()
            self.run_to_its_end(self.repair, 1)
        seen = self.kill_at_each_call(lambda: [TOOL, "undo", self.journals()[0]], prepare)
        self.assertGreaterEqual(seen["original"], 1, seen)
        self.assertGreaterEqual(seen["repaired"], 1, seen)

    def kill_at_random(self, words, prepare, dice):
        prepare()
        begin = time.monotonic()
        subprocess.run(words(), capture_output=True, timeout=60)
        took = time.monotonic() - begin
        seen = collections.Counter()
        for number in range(ROUNDS):
            prepare()
            pause = dice.uniform(0, took * 1.1)
            process = subprocess.Popen(words(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       start_new_session=True)
            time.sleep(pause)
            os.killpg(process.pid, signal.SIGKILL)  # not waited for yet, so the number is its own
            process.wait()
            seen[self.expect_ways_out(f"round {number}, after {pause * 1000:.2f} ms of {took * 1000:.2f}")] += 1
        print(f"killed at random: {ROUNDS} times, left {dict(seen)}")

    def test_at_random_moments(self):
        dice = random.Random(SEED)
        print(f"--seed {SEED}")
        self.start(self.content(STATE + bytes(self.BEHIND)))
        self.kill_at_random(lambda: self.repair, self.start, dice)

        def prepare():
            self.start()
            self.run_to_its_end(self.repair, 1)
        self.kill_at_random(lambda: [TOOL, "undo", self.journals()[0]], prepare, dice)


class KilledInADirectory(Killed):
    """a Cloud Hypervisor snapshot"""
    NAME, BEHIND = "state.json", 1 << 20

    def content(self, state):
        tag = list(b"myfs".ljust(36, b"\0"))
        device = json.dumps({"config": {"tag": tag, "num_request_queues": 1}, "backend_state": list(state)},
                            separators=(",", ":"))
        node = {"snapshots": {}, "snapshot_data": {"state": device}}
        manager = {"snapshots": {"_fs1": node}, "snapshot_data": None}
        return json.dumps({"snapshots": {"device-manager": manager}, "snapshot_data": None}).encode()

    def operand(self):
        return self.folder

    def start(self, original=None):
        super().start(original)
        with open(os.path.join(self.folder, "config.json"), "w", encoding="utf-8") as f:
            json.dump({"fs": [{"tag": "myfs", "socket": "/run/s", "num_queues": 1, "queue_size": 1024, "id": "_fs1"}]}, f)


def unable():
    if os.geteuid() != 0:
        return "not root"
    return None if shutil.which("strace") else "no strace"


if __name__ == "__main__":
    if why := unable():
        print("skipped:", why)
        sys.exit(77)
    arguments = sys.argv[1:]
    TOOL = arguments[arguments.index("--vfsmend") + 1]
    rest = [a for i, a in enumerate(arguments) if a != "--vfsmend" and (i == 0 or arguments[i - 1] != "--vfsmend")]
    if "--seed" in rest:
        at = rest.index("--seed")
        SEED = int(rest[at + 1])
        del rest[at:at + 2]
    unittest.main(argv=[sys.argv[0]] + rest, verbosity=2)
