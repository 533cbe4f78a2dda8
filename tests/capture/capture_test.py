#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A capture from outside: killed after any of the calls with which it writes, it leaves the old manifest or
a whole new one; a damaged manifest is refused; a share that hangs does not hold it; and of the share it opens
directories, and files whose content it hashes, alone.

  capture_test.py --vfsmend PATH [TEST]...      exit 77: cannot be played here
"""
import json
import os
import random
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TESTS, "support"), os.path.join(os.path.dirname(TESTS), "fixtures")]
import never_answers  # noqa: E402
import tree  # noqa: E402

# The calls between the first byte of a manifest and its name on the disk.
WRITING = ("openat", "write", "pwrite64", "fchmod", "fsync", "linkat", "renameat")
# Format v2: the root, inode 2 at "a", and a handle on it.
STATE = bytes([1, 2, 1, 4, 0, 0, 2, 1, 1, 1, 1, ord("a"), 0, 3, 1, 0, 2, 0, 0, 1, 0, 1, 0, 0, 0])
DEADLINE_MS, MOST_SECONDS = 500, 3.0
DAMAGES, SEED = 50, 20261130
TOOL = None


class Share(unittest.TestCase):
    def setUp(self):
        self.base = os.path.realpath(tempfile.mkdtemp(prefix="vfsmend-capture-"))
        self.addCleanup(tree.remove, self.base)
        self.share, self.state = os.path.join(self.base, "S"), os.path.join(self.base, "state")
        os.mkdir(self.share)
        tree.build(self.share, [{"p": "a", "t": "f", "data": "x"}, {"p": "keep", "t": "f"}, {"p": "d", "t": "d"},
                                {"p": "d/b", "t": "f", "data": "yy"}, {"p": "l", "t": "l", "target": "a"}])
        with open(self.state, "wb") as f:
            f.write(STATE)
        self.place = os.path.join(self.base, "M")  # nothing but the manifest
        os.mkdir(self.place)
        self.file = os.path.join(self.place, "manifest")

    def words(self, command, *options):
        return [TOOL, command, "--shared-dir", self.share, "--profile", "virtiofsd", *options, self.state]

    def capture(self, *options):
        return self.words("capture", "--tree", "-o", self.file, *options)

    def run_tool(self, words, status):
        done = subprocess.run(words, capture_output=True, timeout=60)
        self.assertEqual(done.returncode, status, (words, done.stdout[-2000:], done.stderr[-2000:]))
        return done

    def read(self):
        with open(self.file, "rb") as f:
            return f.read()


class Killed(Share):
    """by SIGKILL after the n-th call of each kind, for every n, in any of its processes and threads"""

    def strace(self, *options):
        return ["strace", "-f", "-qq", "-o", os.path.join(self.base, "log"), *options] + self.capture()

    def expect_whole(self, old, what):
        names = os.listdir(self.place)
        litter = [name for name in names if name != "manifest"]
        self.assertLessEqual(len(litter), 1, what)
        for name in litter:
            self.assertRegex(name, r"^manifest\.[0-9A-Za-z]{6}$", what)
            os.unlink(os.path.join(self.place, name))
        if "manifest" not in names:
            self.assertIsNone(old, what + ": the old one is gone")
            return "none"
        if self.read() == old:
            return "old"
        self.run_tool(self.words("check", "--manifest", self.file), 0)
        self.assertEqual(stat.S_IMODE(os.stat(self.file).st_mode), 0o600)
        return "new"

    def kill_at_each(self, old, *options):
        """-> how often there was an old manifest, a new one, none"""
        seen = {"old": 0, "new": 0, "none": 0}
        for call in WRITING:
            for nth in range(1, 100):
                if os.path.exists(self.file):
                    os.unlink(self.file)
                if old is not None:
                    with open(self.file, "wb") as f:
                        f.write(old)
                done = subprocess.run(self.strace(*options, "-e", f"inject={call}:signal=SIGKILL:when={nth}"),
                                      capture_output=True, timeout=60)
                left = self.expect_whole(old, f"killed at {call} {nth}")
                if done.returncode == 0:
                    self.assertEqual(left, "new")
                    break
                self.assertIn(done.returncode, (8, -signal.SIGKILL, 128 + signal.SIGKILL), done.stderr)
                seen[left] += 1
            else:
                self.fail(f"{call}: never done")
        return seen

    def test_without_an_old_manifest(self):
        seen = self.kill_at_each(None)
        self.assertGreaterEqual(seen["none"], 5, seen)
        self.assertGreaterEqual(seen["new"], 1, seen)

    def test_over_an_old_manifest(self):
        self.run_tool(self.capture(), 0)
        seen = self.kill_at_each(self.read())
        self.assertEqual(seen["none"], 0)
        self.assertGreaterEqual(seen["old"], 5, seen)
        self.assertGreaterEqual(seen["new"], 1, seen)

    def test_where_a_file_has_a_name_from_the_start(self):
        """on a file system without O_TMPFILE"""
        self.run_tool(self.strace("-e", "trace=openat"), 0)
        counts, nth = {}, None
        with open(os.path.join(self.base, "log"), encoding="utf-8") as log:
            for line in log:
                pid = line.split()[0]
                counts[pid] = counts.get(pid, 0) + ("openat(" in line)
                nth = counts[pid] if "O_TMPFILE" in line else nth
        self.assertIsNotNone(nth)
        old = self.read()
        calls = [call for call in WRITING if call not in ("openat", "linkat")]
        for call in calls:
            for number in (1, 2):
                with open(self.file, "wb") as f:
                    f.write(old)
                subprocess.run(self.strace("-e", f"inject=openat:error=EOPNOTSUPP:when={nth}", "-e",
                                           f"inject={call}:signal=SIGKILL:when={number}"), capture_output=True, timeout=60)
                self.expect_whole(old, f"killed at {call} {number}")
        done = subprocess.run(self.strace("-e", f"inject=openat:error=EOPNOTSUPP:when={nth}"), capture_output=True, timeout=60)
        self.assertEqual((done.returncode, self.expect_whole(old, "not killed")), (0, "new"), done.stderr)

    def test_an_error_leaves_the_old_one_and_no_litter(self):
        self.run_tool(self.capture(), 0)
        old = self.read()
        for call, error in (("fsync", "EIO"), ("fchmod", "EPERM"), ("linkat", "EDQUOT"), ("renameat", "EIO")):
            done = subprocess.run(self.strace("-e", f"inject={call}:error={error}:when=1"), capture_output=True, timeout=60)
            self.assertEqual(done.returncode, 8, (call, done.stderr))
            self.assertIn(self.file.encode() + b": ", done.stdout + done.stderr)
            self.assertEqual(os.listdir(self.place), ["manifest"], call)
            self.assertEqual(self.read(), old, call)

    def test_an_error_names_a_file_whatever_its_name(self):
        self.file = os.path.join(self.place, "a\x01\x02\n\u202eb")
        done = subprocess.run(self.strace("-e", "inject=fsync:error=EIO:when=1"), capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 8, done.stderr)
        said = b" ".join(done.stdout.split())
        self.assertIn(rb"a\x01\x02\n\xe2\x80\xaeb: cannot be synced: Input/output error", said)


class Damaged(Share):
    def damages(self, whole):
        """where a manifest is cut, and its bits that are flipped"""
        dice = random.Random(SEED)
        print(f"seed {SEED}", end=" ", flush=True)
        for _ in range(DAMAGES):
            at = dice.randrange(len(whole))
            if dice.random() < 0.4:
                yield f"cut at {at}", whole[:at]
            else:
                yield f"byte {at}", whole[:at] + bytes([whole[at] ^ 1 << dice.randrange(8)]) + whole[at + 1:]

    def test_is_refused_and_nothing_of_it_is_used(self):
        self.run_tool(self.words("capture", "--tree", "--hash", "all"), 0)
        beside = self.state + ".vfsmend-manifest"
        with open(beside, "rb") as f:
            whole = f.read()
        os.unlink(os.path.join(self.share, "a"))
        self.run_tool(self.words("check"), 4)  # what would be said with it
        for what, damaged in self.damages(whole):
            with self.subTest(what):
                for path in (beside, self.file):
                    with open(path, "wb") as f:
                        f.write(damaged)
                done = self.run_tool(self.words("check", "--manifest", self.file), 16)
                self.assertEqual(done.stdout, b"")
                self.assertRegex(done.stderr.decode(), re.escape(self.file) + r": .*bytes? \d+")
                done = self.run_tool(self.words("check", "--format", "json"), 8)
                report = json.loads(done.stdout)
                self.assertEqual((report["verdict"], report["counts"], report["devices"]), ("indeterminate", {}, []))
                self.assertRegex(json.dumps(report), re.escape(beside) + r": .*bytes? \d+")


class Hangs(Share):
    def expect_e001(self, where, *options):
        begin = time.monotonic()
        done = self.run_tool(self.capture("--deadline", str(DEADLINE_MS), "--format", "json", *options), 8)
        self.assertLess(time.monotonic() - begin, MOST_SECONDS)
        report = json.loads(done.stdout)
        self.assertEqual(report["counts"], {"E001": 1})
        self.assertIn(f"the wait was at: {where}", json.dumps(report))
        self.assertEqual(os.listdir(self.place), [])

    def test_the_share(self):
        for kind in ("deaf", "mute"):
            with self.subTest(kind), never_answers.NeverAnswers(self.share, kind):
                self.expect_e001(f"the share {self.share}")

    def test_a_directory_of_it(self):
        """what waits for it is what looks at the directory that it is in"""
        for kind in ("deaf", "mute"):
            with self.subTest(kind), never_answers.NeverAnswers(os.path.join(self.share, "d"), kind):
                self.expect_e001(self.share)

    def test_a_directory_deep_in_it_while_others_are_busy(self):
        for i in range(20):
            os.mkdir(os.path.join(self.share, f"w{i}"))
            for k in range(20):
                os.mkdir(os.path.join(self.share, f"w{i}", f"v{k}"))
                for n in range(5):
                    with open(os.path.join(self.share, f"w{i}", f"v{k}", f"f{n}"), "wb") as f:
                        f.write(b"x" * 1000)
        hung = os.path.join(self.share, "w7", "v3", "hung")
        os.mkdir(hung)
        for kind in ("deaf", "mute"):
            with self.subTest(kind), never_answers.NeverAnswers(hung, kind):
                self.expect_e001(os.path.dirname(hung), "--hash", "all")


CALL = re.compile(r'^(?:\d+ +)?(open|openat|openat2)\((?:AT_FDCWD|\d+)?[^"]*"((?:[^"\\]|\\.)*)"(.*)$')


class Opens(Share):
    """the names are told apart by their last component: in a clone of the mount a path has no beginning"""

    def setUp(self):
        super().setUp()
        self.outside = os.path.join(self.base, "outside")
        tree.build(self.base, [{"p": "outside", "t": "d"}, {"p": "outside/secret", "t": "f", "data": "s"}])
        self.traps = []
        for below in ("", "d/"):
            for kind, name in (("p", "fifo"), ("s", "socket"), ("c", "device")):
                self.traps.append(name)
                tree.build(self.share, [{"p": below + name, "t": kind}])
            for name, target in (("link-file", self.outside + "/secret"), ("link-directory", self.outside), ("link-up", ".."),
                                 ("link-loop", "link-loop"), ("link-fifo", "fifo"), ("link-tty", "/dev/tty")):
                self.traps.append(name)
                os.symlink(target, os.path.join(self.share, below + name))
        self.files = {"a", "b", "keep"}
        # All names first: to list a directory would move its access time.
        self.paths = [os.path.join(directory, name) for directory, directories, files in os.walk(self.share)
                      for name in directories + files] + [self.share, os.path.join(self.outside, "secret"), self.outside]
        for path in self.paths:
            os.utime(path, (1000, 2000), follow_symlinks=False)

    def access_times(self):
        return {path: os.lstat(path).st_atime for path in self.paths}

    def opened(self, *options):
        """-> base names of regular files that were opened for reading; checks all opens"""
        log = os.path.join(self.base, "log")
        strace = ["strace", "-f", "-qq", "-y", "-s", "4096", "-o", log, "-e", "trace=?open,openat,openat2"]
        self.run_tool(strace + self.words("capture", "-o", self.file, *options), 0)
        with open(log, encoding="utf-8", errors="surrogateescape") as f:
            calls = [match.groups() for match in map(CALL.match, f) if match]
        self.assertTrue([call for call in calls if call[0] == "openat2"], "strace saw nothing")
        found = set()
        for call, path, rest in calls:
            name = os.path.basename(path)
            self.assertNotIn(name, self.traps + ["secret", "outside"], (call, path, rest))
            self.assertNotIn(self.outside, path + rest)
            if name in self.files and "O_PATH" not in rest:
                found.add(name)
                for flag in ("O_NOATIME", "O_NOFOLLOW", "O_NONBLOCK", "O_RDONLY"):
                    self.assertIn(flag, rest, path)
            if path == "." or name == "d":
                self.assertTrue("O_PATH" in rest or "O_NOATIME" in rest, rest)
        self.assertEqual(self.access_times(), dict.fromkeys(self.paths, 1000))
        return found

    def test_of_a_state(self):
        self.assertEqual(self.opened("--hash", "none"), set())
        self.assertEqual(self.opened(), {"a"}, "what the guest has open")

    def test_of_a_tree(self):
        self.assertEqual(self.opened("--tree", "--hash", "none"), set())
        self.assertEqual(self.opened("--tree"), {"a"})
        self.assertEqual(self.opened("--tree", "--hash", "all"), self.files)

    def test_links_and_special_files_of_a_state(self):
        """whatever the guest knows under the name"""
        for trap in sorted(set(self.traps)):
            with self.subTest(trap):
                path = trap.encode()
                with open(self.state, "wb") as f:
                    f.write(STATE[:10] + bytes([len(path)]) + path + STATE[12:])
                self.assertEqual(self.opened("--hash", "all"), set())


def why_not():
    if never_answers.can_mount():
        return never_answers.can_mount()
    return None if shutil.which("strace") else "no strace"


if __name__ == "__main__":
    if why_not():
        print("skipped:", why_not())
        sys.exit(77)
    never_answers.private_mounts()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    where = sys.argv.index("--vfsmend")
    TOOL = sys.argv[where + 1]
    unittest.main(argv=sys.argv[:where] + sys.argv[where + 2:], verbosity=2)
