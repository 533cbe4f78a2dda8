#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A deadline holds where a system call hangs: the share, a directory below it, or the snapshot itself
lies on a file system that does not answer, one from which a waiting process can be killed and one
from which it cannot.

  deadline_test.py --vfsmend PATH      exit 77: cannot be played here
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TESTS, "support"), os.path.join(os.path.dirname(TESTS), "fixtures")]
import make  # noqa: E402
import never_answers  # noqa: E402
import tree  # noqa: E402

DEADLINE_MS, MOST_SECONDS = 500, 2.0
TOOL = None


class Deadline(unittest.TestCase):
    def setUp(self):
        self.base = tempfile.mkdtemp(prefix="vfsmend-deadline-")
        self.addCleanup(tree.remove, self.base)
        self.built = make.build(make.load("OK-all-there"), os.path.join(self.base, "case"))

    def command(self, *options, snapshot=None):
        return [TOOL, "check", "--profile", "virtiofsd", "--shared-dir", self.built.share, *options,
                snapshot or self.built.snapshot]

    def bounded(self, words, status):
        begin = time.monotonic()
        # capture_output reads to the end of both pipes: a worker that held one would keep us here
        done = subprocess.run(words, capture_output=True, timeout=30)
        took = time.monotonic() - begin
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertLess(took, MOST_SECONDS)
        return done

    def ends_with_e001(self, snapshot=None):
        done = self.bounded(self.command("--deadline", str(DEADLINE_MS), "--format", "json", snapshot=snapshot), 8)
        report = json.loads(done.stdout)
        self.assertEqual(report["verdict"], "indeterminate")
        self.assertEqual(report["exit_code"], 8)
        self.assertEqual(report["counts"], {"E001": 1})
        done = self.bounded(self.command("--deadline", str(DEADLINE_MS), "--format", "text", snapshot=snapshot), 8)
        self.assertIn(b"E001", done.stdout)

    def test_the_share(self):
        for kind in ("deaf", "mute"):
            with self.subTest(kind), never_answers.NeverAnswers(self.built.share, kind):
                self.ends_with_e001()

    def test_a_directory_of_the_share(self):
        for kind in ("deaf", "mute"):
            with self.subTest(kind), never_answers.NeverAnswers(os.path.join(self.built.share, "d"), kind):
                self.ends_with_e001()

    def test_the_snapshot(self):
        place = os.path.join(self.base, "place")
        os.mkdir(place)
        for kind in ("deaf", "mute"):
            with self.subTest(kind), never_answers.NeverAnswers(place, kind):
                self.ends_with_e001(snapshot=os.path.join(place, "state"))

    def test_cancel(self):
        """SIGTERM and SIGINT end a check that hangs, without any deadline: exit 32"""
        for kind in ("deaf", "mute"):
            for number in (signal.SIGTERM, signal.SIGINT):
                with self.subTest((kind, number)), never_answers.NeverAnswers(self.built.share, kind):
                    check = subprocess.Popen(self.command("--format", "json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                    time.sleep(0.5)
                    self.assertIsNone(check.poll(), "it did not hang")
                    check.send_signal(number)
                    begin = time.monotonic()
                    out, _ = check.communicate(timeout=30)
                    self.assertLess(time.monotonic() - begin, MOST_SECONDS)
                    self.assertEqual(check.returncode, 32)
                    self.assertEqual(json.loads(out)["exit_code"], 32)

    def test_no_worker_stays(self):
        """once the file system is gone nothing of the check is left"""
        with never_answers.NeverAnswers(self.built.share, "mute"):
            self.bounded(self.command("--deadline", str(DEADLINE_MS)), 8)
        mine = self.built.snapshot.encode()
        until = time.monotonic() + 5
        while time.monotonic() < until and any(mine in words for words in command_lines()):
            time.sleep(0.05)
        self.assertFalse([w for w in command_lines() if mine in w])

    def test_a_deadline_that_is_not_needed(self):
        done = self.bounded(self.command("--deadline", "60000", "--format", "json"), 0)
        self.assertEqual(json.loads(done.stdout)["counts"], {})


def command_lines():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                yield f.read()
        except OSError:
            pass  # gone meanwhile


if __name__ == "__main__":
    if never_answers.can_mount():
        print("skipped:", never_answers.can_mount())
        sys.exit(77)
    never_answers.private_mounts()
    TOOL = sys.argv[sys.argv.index("--vfsmend") + 1]
    unittest.main(argv=sys.argv[:1], verbosity=2)
