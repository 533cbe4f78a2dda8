#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`vfsmend rehearse` with a real virtiofsd, and with programs that only look like one.

  rehearse_test.py --vfsmend BIN [TEST..]
"""
import argparse
import copy
import json
import os
import stat
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "..", "fixtures")]
import state_codec  # noqa: E402
import testbed  # noqa: E402

VFSMEND = DAEMON = None
O_RDWR, O_CREAT, O_TRUNC, O_TMPFILE = 0x8002, 0o100, 0o1000, 0o20200000
STATE = {
    "inodes": [{"id": 1, "rc": 4, "loc": "root"},
               {"id": 2, "rc": 2, "loc": "path", "parent": 1, "name": "d"},
               {"id": 3, "rc": 1, "loc": "path", "parent": 2, "name": "f"},
               {"id": 4, "rc": 1, "loc": "path", "parent": 1, "name": "a"}],
    "next_inode": 5, "handles": [{"id": 0, "inode": 3, "flags": O_RDWR}], "next_handle": 1, "options": [0, 0, 0, 0]}


def mounts():
    with open("/proc/self/mountinfo") as table:
        return table.read()


class Rehearsal(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory(prefix="vfsmend-test-")
        self.addCleanup(self.place.cleanup)
        self.share = os.path.join(self.place.name, "share")
        os.makedirs(os.path.join(self.share, "d"))
        for name in ("d/f", "a"):
            with open(os.path.join(self.share, name), "w") as f:
                f.write("content")

    def state(self, change=lambda state: None):
        structs = copy.deepcopy(STATE)
        change(structs)
        path = os.path.join(self.place.name, "state")
        with open(path, "wb") as f:
            f.write(state_codec.encode(structs))
        return path

    def run_tool(self, *args, state=None, daemon=None, share=None, sandbox=("--sandbox", "none")):
        command = [VFSMEND, "rehearse", "--virtiofsd", daemon or DAEMON, "--shared-dir", share or self.share,
                   *sandbox, "--format", "json", *args, state or self.state()]
        before = mounts()
        done = subprocess.run(command, capture_output=True, timeout=60)
        self.assertEqual(mounts(), before)
        left = [name for where in ("/run", "/tmp") for name in os.listdir(where)
                if name.startswith("vfsmend-") and len(name) == 14]
        self.assertEqual(left, [], "the directory of the socket is still there")
        report = json.loads(done.stdout) if done.stdout else None
        return done.returncode, report, done.stderr.decode()

    def rehearsed(self, *args, **more):
        status, report, _ = self.run_tool(*args, **more)
        return status, report["devices"][0]["restore"], report["devices"][0]["rehearsal"], report

    def program(self, script):
        path = os.path.join(self.place.name, "virtiofsd")
        with open(path, "w") as f:
            f.write("#!/bin/sh\n" + script + "\n")
        os.chmod(path, 0o755)
        return path

    def test_a_good_state_is_confirmed(self):
        status, restore, said, _ = self.rehearsed()
        self.assertEqual((status, said["outcome"], said["agrees"], said["reason"]), (0, "succeeds", True, None))
        self.assertEqual(said["version"], "1.13.2")
        self.assertGreater(said["load_us"], 0)

    def test_the_sandboxes(self):
        for sandbox in ("namespace", "chroot"):
            status, _, said, _ = self.rehearsed(
                "--daemon-args", f"virtiofsd --sandbox {sandbox} --socket-path /nowhere --syslog --tag=x", sandbox=())
            self.assertEqual((status, said["agrees"]), (0, True))

    def test_a_lost_file_in_the_daemons_own_words(self):
        os.unlink(os.path.join(self.share, "d/f"))
        status, restore, said, _ = self.rehearsed()
        text = f"Inode 3: Opening {self.share}/d/f: No such file or directory (os error 2)"
        self.assertEqual((status, restore["error"], said["error"], said["agrees"]), (4, text, text, True))
        status, _, said, _ = self.rehearsed("--on-error", "guest-error")
        self.assertEqual((said["outcome"], said["invalid_inodes"], said["invalid_handles"]), ("succeeds", ["3"], ["0"]))

    def test_what_would_change_files_is_refused(self):
        for flags in (O_RDWR | O_TRUNC, O_RDWR | O_CREAT, O_RDWR | O_TMPFILE):
            with self.subTest(flags=oct(flags)):
                state = self.state(lambda s: s["handles"][0].update(flags=flags, inode=2 if flags & 0o20000000 else 3))
                status, _, said, _ = self.rehearsed(state=state)
                self.assertEqual((said["outcome"], said["agrees"]), ("unknown", False))
                self.assertIn("it would change files", said["reason"])
                self.assertNotEqual(status, 0)
                with open(os.path.join(self.share, "d/f")) as f:
                    self.assertEqual(f.read(), "content")

    def test_a_mount_path_that_is_a_fifo_is_refused(self):
        os.mkfifo(os.path.join(self.share, "pipe"))
        state = self.state(lambda s: s.update(mounts={"7": "pipe"}))
        _, restore, said, _ = self.rehearsed(state=state)
        self.assertEqual((restore["outcome"], said["outcome"]), ("hangs", "unknown"))
        self.assertIn("FIFO", said["reason"])

    def test_a_read_only_bind(self):
        status, restore, said, report = self.rehearsed("--read-only-bind")
        self.assertEqual(said["error"], f"Opening inode 3 ({self.share}/d/f) as handle 0: "
                                        "Read-only file system (os error 30)")
        self.assertTrue(said["agrees"])
        self.assertTrue(any("bound read-only" in text for text in report["assumptions"]))

    def test_a_share_that_is_not_there(self):
        status, _, said, _ = self.rehearsed(share=self.share + "-gone")
        self.assertEqual((status, said["outcome"]), (8, "fails"))

    def test_a_daemon_that_says_otherwise(self):
        os.mkdir(self.share + "2")
        other = self.program(f'[ "$1" = --version ] && exec "{DAEMON}" --version\n'
                             f'exec "{DAEMON}" "$@" --shared-dir "{self.share}2"')
        status, restore, said, report = self.rehearsed(daemon=other)
        self.assertEqual((status, report["verdict"]), (8, "indeterminate"))
        self.assertEqual((restore["outcome"], said["outcome"], said["agrees"]), ("succeeds", "fails", False))
        self.assertEqual(said["reason"], "predicted: succeeds")
        self.assertIn("differ", report["reason"])

    def test_a_daemon_that_hangs(self):
        sleeper = self.program('[ "$1" = --version ] && echo "virtiofsd 1.13.2" && exit\nexec sleep 1357')
        begin = time.monotonic()
        status, _, said, _ = self.rehearsed("--deadline", "2000", daemon=sleeper)
        self.assertLess(time.monotonic() - begin, 20)
        self.assertEqual((status, said["outcome"]), (8, "unknown"))
        self.assertIn("no answer in time", said["reason"])
        ended = subprocess.run(["pgrep", "-fx", "sleep 1357"], capture_output=True)
        self.assertEqual(ended.stdout, b"", "the daemon is still there")

    def test_a_daemon_that_ends(self):
        for script, word in (("echo no share for you >&2; exit 3", "no share for you"), ("kill -9 $$", "")):
            program = self.program(f'[ "$1" = --version ] && echo "virtiofsd 1.13.2" && exit\n{script}')
            status, _, said, _ = self.rehearsed(daemon=program)
            self.assertEqual((status, said["outcome"], said["agrees"]), (8, "fails", False))
            self.assertIn(word, said["error"])

    def test_what_is_no_virtiofsd(self):
        for daemon, text in (("/nowhere/virtiofsd", "No such file"), ("/bin/echo", "is not what virtiofsd says"),
                             (self.share, "Permission denied")):
            status, report, err = self.run_tool(daemon=daemon)
            self.assertEqual((status, report), (16, None))
            self.assertIn(text, err)
        status, _, err = self.run_tool("--daemon-args", "virtiofsd -o source=/,cache=auto")
        self.assertEqual(status, 16)
        self.assertIn("-o", err)


def main():
    global VFSMEND, DAEMON
    parser = argparse.ArgumentParser()
    parser.add_argument("--vfsmend", required=True)
    options, rest = parser.parse_known_args()
    if os.geteuid() != 0:
        print("skipped: not root")
        return 77
    why = testbed.why_not("virtiofsd-1.13.2")
    if why:
        print(f"skipped: {why}")
        return 77
    VFSMEND, DAEMON = os.path.abspath(options.vfsmend), testbed.path("virtiofsd-1.13.2")
    assert stat.S_ISREG(os.stat(VFSMEND).st_mode)
    return 0 if unittest.main(argv=[sys.argv[0], *rest], exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
