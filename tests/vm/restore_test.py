#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One real virtual machine: a Linux guest uses a share of virtiofsd under QEMU 10, is saved to a file, and
the file is restored, each time after `vfsmend check` has said how that will end:

  1. the share as it was        resume; the guest goes on with the files that it has open
  2. the same, virtiofsd 1.14   the same
  3. an open file removed       the restore fails, with the text that was predicted
  4. the same, --migration-on-error guest-error: it succeeds; the guest sees what was predicted

  restore_test.py --vfsmend PATH --guest PROGRAM      exit 77: cannot be played here
"""
import errno
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path[:0] = [HERE, os.path.join(TESTS, "support"), os.path.join(os.path.dirname(TESTS), "fixtures")]
import guest  # noqa: E402
import qemu_process  # noqa: E402
import testbed  # noqa: E402
import tree  # noqa: E402
import virtiofsd  # noqa: E402

FAR = 700_000  # in the large file: beyond what the guest reads ahead at its beginning
TREE = [{"p": "large", "t": "f", "data": "0123456789" * 100_000}, {"p": "log", "t": "f", "data": "first."},
        {"p": "gone", "t": "f", "data": "soon gone"}, {"p": "never", "t": "f", "data": "not looked up"},
        {"p": "work", "t": "d"}, {"p": "work/notes", "t": "f", "data": "of the working directory"}]
ENTRY_TIMEOUT_S = 1  # for so long a guest asks no second time for a name, with --cache auto
TOOL = PROGRAM = None


def step(text, begin=time.monotonic()):
    print(f"{time.monotonic() - begin:6.1f} s  {text}", flush=True)


class Restore(unittest.TestCase):
    def setUp(self):
        self.base = os.path.realpath(tempfile.mkdtemp(prefix="vfsmend-vm-"))
        self.addCleanup(tree.remove, self.base)
        self.share, self.snapshot, self.archive = (self.path(name) for name in ("share", "snapshot", "initramfs"))
        os.mkdir(self.share)
        tree.build(self.share, TREE)
        guest.initramfs(PROGRAM, self.archive)

    def path(self, name):
        return os.path.join(self.base, name)

    def on_host(self, name):
        with open(os.path.join(self.share, name)) as f:
            return f.read()

    def check(self, options, status, version="1.13.2"):
        """-> the report on the only device"""
        words = [TOOL, "check", "--format", "json", "--shared-dir", self.share, "--virtiofsd-version", version,
                 "--daemon-args", " ".join(options), self.snapshot]
        done = subprocess.run(words, capture_output=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(report["snapshot"]["container"], "qemu")
        return report["devices"][0]

    def machine(self, name, daemon, *options):
        return guest.Machine(self.path(name + "-qemu"), daemon, self.archive, options)

    def restored(self, name, daemon):
        return self.machine(name, daemon, "-S", "-incoming", "defer")

    def daemon(self, name, options=(), version="1.13.2"):
        return virtiofsd.Virtiofsd(self.share, self.path(name + "-daemon"), options, version)

    def test_save_and_restore(self):
        self.save()
        self.restore_as_it_was("first", "1.13.2", "third.")
        self.restore_as_it_was("newer", "1.14.0", "again.")
        os.unlink(os.path.join(self.share, "gone"))
        self.restore_fails()
        self.restore_with_a_stub()

    def save(self):
        with self.daemon("saved") as daemon, self.machine("saved", daemon) as machine:
            machine.booted()
            step("booted")
            machine.ask("mount")
            for name, how in (("large", "r"), ("log", "rw"), ("gone", "r")):
                machine.ask("open", name, "/share/" + name, how)
            self.assertEqual(machine.ask("read", "large", 0, 10), "0123456789")
            self.assertEqual(machine.ask("read", "gone", 0, 9), "soon gone")
            machine.ask("write", "log", 6, "second.")
            machine.ask("cd", "/share/work")
            self.assertEqual(machine.ask("size", "notes"), "24")
            self.assertEqual(self.on_host("log"), "first.second.")
            self.assertEqual(machine.ask("size", "/share/gone"), "9")  # a name that it knows when it is stopped
            machine.command("stop")
            self.assertEqual(machine.migrate(self.snapshot), ("completed", ""))
            machine.quit()
            self.assertIsNone(daemon.load_error())
        step(f"saved, {os.path.getsize(self.snapshot) >> 20} MiB")

    def goes_on(self, machine, text):
        """what does not depend on the file that is removed later"""
        self.assertEqual(machine.ask("read", "large", FAR, 7), "renewed")
        machine.ask("write", "log", 13, text)
        self.assertEqual(self.on_host("log"), "first.second." + text)
        self.assertEqual(machine.ask("size", "notes"), "24", "the working directory")
        machine.ask("open", "new", "../never", "r")
        self.assertEqual(machine.ask("read", "new", 0, 13), "not looked up")

    def restore_as_it_was(self, name, version, text):
        device = self.check([], 0, version)
        self.assertEqual((device["verdict"], device["restore"]["outcome"]), ("resume", "succeeds"))
        self.assertEqual(device["handles"], 3, "open files")
        self.assertEqual(device["inodes"], 6, "the root, work, notes, and three files")
        step(f"check: resume with {version}")
        with open(os.path.join(self.share, "large"), "r+") as f:  # only who asks the host again reads this
            f.seek(FAR)
            f.write("renewed")
        with self.daemon(name, version=version) as daemon, self.restored(name, daemon) as machine:
            self.assertEqual(machine.incoming(self.snapshot), ("completed", ""))
            machine.command("cont")
            self.goes_on(machine, text)
            self.assertEqual(machine.ask("read", "gone", 0, 9), "soon gone")
            self.assertEqual(machine.ask("list", "/share"), "gone,large,log,never,work")
            machine.quit()
            self.assertIsNone(daemon.load_error())
        step("restored; the guest goes on")

    def restore_fails(self):
        device = self.check([], 4)
        self.assertEqual(device["restore"]["outcome"], "fails")
        step(f"check: {device['restore']['error']}")
        with self.daemon("second") as daemon, self.restored("second", daemon) as machine:
            self.assertEqual(machine.incoming(self.snapshot)[0], "failed")
            self.assertIn(qemu_process.REFUSED_BY_DAEMON, machine.log())
            machine.quit()
            self.assertEqual(daemon.load_error(), device["restore"]["error"])
        step("failed, with that text")

    def restore_with_a_stub(self):
        options = ["--migration-on-error", "guest-error"]
        device = self.check(options, 0)
        self.assertEqual(device["restore"]["outcome"], "succeeds")
        finding, = device["findings"]
        self.assertEqual((finding["code"], finding["path"], finding["open"]), ("P001", "gone", True))
        self.assertEqual(device["restore"]["invalid_inodes"], [finding["inode"]])
        self.assertTrue(finding["guest_sees"].startswith("EIO on the path and through what is open on it"), finding)
        step(f"check: resume, {finding['guest_sees']}")
        with self.daemon("third", options) as daemon, self.restored("third", daemon) as machine:
            self.assertEqual(machine.incoming(self.snapshot), ("completed", ""))
            machine.command("cont")
            # A guest that was too slow after it last looked has forgotten the name already.
            self.assertIn(machine.errno_of("open", "again", "/share/gone", "r"), (errno.EIO, errno.ENOENT))
            self.assertEqual(machine.errno_of("read", "gone", 0, 9), errno.EIO)
            self.goes_on(machine, "other.")
            time.sleep(ENTRY_TIMEOUT_S + 0.5)
            self.assertEqual(machine.errno_of("open", "again", "/share/gone", "r"), errno.ENOENT, "a name like any other")
            self.assertEqual(machine.errno_of("read", "gone", 0, 9), errno.EIO)
            machine.quit()
            self.assertIsNone(daemon.load_error())
        step("restored; the guest sees that")


if __name__ == "__main__":
    missing = testbed.why_not("virtiofsd-1.13.2", "virtiofsd-1.14.0", "qemu-system-x86_64", "vmlinuz")
    if missing:
        print("skipped:", missing)
        sys.exit(77)
    TOOL = sys.argv[sys.argv.index("--vfsmend") + 1]
    PROGRAM = sys.argv[sys.argv.index("--guest") + 1]
    unittest.main(argv=sys.argv[:1], verbosity=2)
