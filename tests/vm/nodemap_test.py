#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A snapshot that lost every location, and what a node map of its guest makes of it, in a real virtual machine
(docs/recipes/two-pass.md):

  1. a guest has files open, mapped and executed on its share, and stands in a directory of it; its node map names
     the very ids, paths and inode numbers that the saved state and the host have
  2. every location of the state is made Invalid inside the QEMU file
  3. without foresight: the guest is restored with all of it dead, or dropped, and gives the same map
  4. repaired by any of these maps the snapshot restores under abort, and the guest reads and writes on

  nodemap_test.py --vfsmend PATH --guest PROGRAM      exit 77: cannot be played here
"""
import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path[:0] = [HERE, os.path.join(TESTS, "support"), os.path.join(os.path.dirname(TESTS), "fixtures")]
import containers  # noqa: E402
import guest  # noqa: E402
import restore_test  # noqa: E402
import state_codec  # noqa: E402
import testbed  # noqa: E402
import tree  # noqa: E402
import virtiofsd  # noqa: E402

FAR = restore_test.FAR
TREE = [{"p": "large", "t": "f", "data": "0123456789" * 100_000}, {"p": "log", "t": "f", "data": "first."},
        {"p": "deep", "t": "d"}, {"p": "deep/er", "t": "d"}, {"p": "deep/er/mapped", "t": "f", "data": "abcdefghij" * 100_000},
        {"p": "work", "t": "d"}, {"p": "work/notes", "t": "f", "data": "of the working directory"},
        {"p": "tmp", "t": "f", "data": "soon without a name"}, {"p": "known", "t": "f", "data": "looked up, not open"}]
HELD = {"large", "log", "work", "deep/er/mapped", "program"}
step = restore_test.step
TOOL = PROGRAM = None


def places(state):
    """-> path by id, of a state in which none is lost but what has no name"""
    inodes = {i["id"]: i for i in state["inodes"]}

    def path(i):
        if i["loc"] != "path":
            return "" if i["loc"] == "root" else None
        above = path(inodes[i["parent"]])
        return f"{above}/{i['name']}" if above else i["name"]

    return {n: path(i) for n, i in inodes.items()}


class NodeMap(unittest.TestCase):
    def setUp(self):
        self.base = os.path.realpath(tempfile.mkdtemp(prefix="vfsmend-vm-"))
        self.addCleanup(tree.remove, self.base)
        self.share, self.snapshot, self.archive = (self.path(name) for name in ("share", "snapshot", "initramfs"))
        os.mkdir(self.share)
        tree.build(self.share, TREE)
        shutil.copy(PROGRAM, self.path("share/program"))
        guest.initramfs(PROGRAM, self.archive, vfsmend=TOOL)

    def path(self, name):
        return os.path.join(self.base, name)

    def machine(self, name, daemon, *options):
        return guest.Machine(self.path(name + "-qemu"), daemon, self.archive, options)

    def daemon(self, name, options=()):
        return virtiofsd.Virtiofsd(self.share, self.path(name + "-daemon"), options)

    def vfsmend(self, *words):
        done = subprocess.run([TOOL, *words, "--format", "json", "--shared-dir", self.share, "--virtiofsd-version", "1.13.2",
                               self.snapshot], capture_output=True, timeout=120)
        return done.returncode, json.loads(done.stdout)

    def node_map(self, machine, name):
        """-> the map of the guest, and the file into which it was put"""
        text = machine.ask("nodemap", "/share")
        self.assertTrue(text.startswith("{"), text)
        containers.write(self.path(name), text)
        return json.loads(text), self.path(name)

    def test_lost_and_found(self):
        before, first = self.save()
        with open(self.snapshot, "rb") as f:
            stream = f.read()
        state = state_codec.decode(containers.qemu_state(stream))
        self.agrees(before, state)
        self.lose_everything(stream, state)
        del stream
        shutil.copy(self.snapshot, self.path("damaged"))
        again, second = self.map_of_the_dead()
        self.assertEqual(self.told(again), self.told(before))
        step("the restored guest, all of whose files are dead, gives the same map")
        third, healed = self.map_of_the_healed()
        self.assertEqual(self.told(third), self.told(before))
        self.assertEqual({e["path"] for e in third["entries"] if e.get("deleted")}, {"tmp", "large"})
        step("and so does one whose names heal, though its kernel takes an old name for a deleted one")
        for name, file, text in (("foresight", first, "second."), ("two-passes", second, "third.."), ("healed", healed, "fourth.")):
            shutil.copy(self.path("damaged"), self.snapshot)
            self.repair(file)
            self.restore(name, text)

    def save(self):
        with self.daemon("saved") as daemon, self.machine("saved", daemon) as machine:
            machine.booted()
            step("booted")
            machine.ask("mount")
            for name, how in (("large", "r"), ("log", "rw"), ("work", "r"), ("tmp", "r")):
                machine.ask("open", name, "/share/" + name, how)
            self.assertEqual(machine.ask("read", "large", 0, 10), "0123456789")
            machine.ask("unlink", "/share/tmp")
            machine.ask("map", "mapped", "/share/deep/er/mapped")
            self.assertEqual(machine.ask("peek", "mapped", 0, 10), "abcdefghij")
            self.program = machine.ask("start", "/share/program")
            machine.ask("cd", "/share/work")
            self.assertEqual(machine.ask("size", "/share/known"), "19")
            made = self.node_map(machine, "first.nodemap")
            machine.command("stop")
            self.assertEqual(machine.migrate(self.snapshot), ("completed", ""))
            machine.quit()
            self.assertIsNone(daemon.load_error())
        step(f"saved, {os.path.getsize(self.snapshot) >> 20} MiB; the map has {len(made[0]['entries'])} entries")
        return made

    @staticmethod
    def told(made):
        """what of a map does not depend on who else runs: threads of the kernel stand where process 1 does, and so does
        the program that makes the map"""
        return {tuple(sorted((k, v) for k, v in e.items() if k not in ("pid", "deleted"))) for e in made["entries"]}

    def agrees(self, made, state):
        """the map names the ids of the state, with their paths, and the inode numbers of the host"""
        self.assertEqual((made["mount"], made["fs_type"], made["source"]), ("/share", "virtiofs", "fs"))
        self.assertEqual(made["warnings"], [])
        where = places(state)
        held = {}
        for entry in made["entries"]:
            node = int(entry["node"])
            self.assertIn(node, where, entry)
            if entry.get("deleted"):
                self.assertEqual((entry["path"], where[node]), ("tmp", None))
                continue
            self.assertEqual(entry["path"], where[node])
            self.assertEqual(int(entry["ino"]), os.lstat(os.path.join(self.share, entry["path"])).st_ino, entry)
            held.setdefault(entry["path"], set()).add(entry["kind"])
        self.assertEqual(set(held), HELD)
        self.assertEqual((held["work"], held["deep/er/mapped"], held["program"]), ({"fd", "cwd"}, {"map"}, {"exe", "map"}))
        nodes = {int(entry["node"]) for entry in made["entries"]}
        for handle in state["handles"]:
            self.assertIn(handle["inode"], nodes, "a handle on what is not in the map")
        self.assertEqual({where[h["inode"]] for h in state["handles"]}, HELD | {None})
        step(f"{len(nodes)} nodes of the map are those of {len(state['handles'])} handles in the state")

    def lose_everything(self, stream, state):
        for inode in state["inodes"]:
            inode["loc"] = "invalid"
        containers.write(self.snapshot, containers.qemu_splice(stream, state_codec.encode(state)))
        status, report = self.vfsmend("check")
        self.assertEqual((status, list(report["counts"])), (4, ["S001"]), report)
        with open(self.path("share/large"), "r+") as f:  # only who asks the host again reads this
            f.seek(FAR)
            f.write("renewed")
        with open(self.path("share/deep/er/mapped"), "r+") as f:
            f.seek(FAR)
            f.write("renewed")
        step(f"{len(state['inodes'])} locations lost; check: repair")

    def map_of_the_dead(self):
        options = ["--migration-on-error", "guest-error", "--readonly"]
        with self.daemon("dead", options) as daemon, self.machine("dead", daemon, "-S", "-incoming", "defer") as machine:
            self.assertEqual(machine.incoming(self.snapshot), ("completed", ""))
            machine.command("cont")
            self.assertEqual(machine.errno_of("read", "large", FAR, 7), errno.EIO)
            return self.node_map(machine, "second.nodemap")

    def map_of_the_healed(self):
        """of a guest that was restored without its lost inodes, and has looked a name up since"""
        status, _ = self.vfsmend("repair", "-y")
        self.assertEqual(status, 1)
        with self.daemon("healed", ["--readonly"]) as daemon, self.machine("healed", daemon, "-S", "-incoming", "defer") as machine:
            self.assertEqual(machine.incoming(self.snapshot), ("completed", ""))
            machine.command("cont")
            self.assertEqual(machine.errno_of("read", "large", FAR, 7), errno.EBADF)
            time.sleep(restore_test.ENTRY_TIMEOUT_S + 0.5)
            self.assertEqual(machine.ask("size", "/share/large"), "1000000")
            return self.node_map(machine, "third.nodemap")

    def repair(self, file):
        status, report = self.vfsmend("repair", "-y", "--nodemap", file)
        self.assertEqual((status, report["verdict"]), (1, "resume"), report)
        lost = [c for s in report["repair"]["steps"] for c in s["casualties"]]
        self.assertEqual(len(lost), 1, "the file without a name: " + str(lost))
        with open(self.snapshot, "rb") as f:
            state = state_codec.decode(containers.qemu_state(f.read()))
        self.assertEqual({i["name"] for i in state["inodes"] if i["id"] != 1}, HELD)
        root, = (i for i in state["inodes"] if i["id"] == 1)
        self.assertEqual(root["rc"], max(2 + len(HELD), root["rc"]))
        step("repaired by the map")

    def restore(self, name, text):
        with self.daemon(name) as daemon, self.machine(name, daemon, "-S", "-incoming", "defer") as machine:
            self.assertEqual(machine.incoming(self.snapshot), ("completed", ""))
            machine.command("cont")
            self.assertEqual(machine.ask("read", "large", FAR, 7), "renewed")
            machine.ask("write", "log", 6, text)
            with open(self.path("share/log")) as f:
                self.assertEqual(f.read(), "first." + text)
            self.assertEqual(machine.ask("size", "notes"), "24", "the working directory")
            self.assertEqual(machine.ask("peek", "mapped", FAR, 7), "renewed", "a page that it never had")
            machine.ask("open", "executed", f"/proc/{self.program}/exe", "r")
            self.assertEqual(machine.ask("read", "executed", 1, 3), "ELF")
            self.assertEqual(machine.errno_of("read", "tmp", 0, 4), errno.EBADF, "it has no name")
            self.assertEqual(machine.ask("list", "/share"), "deep,known,large,log,program,work")
            self.assertEqual(machine.ask("size", "/share/known"), "19", "a name heals")
            machine.quit()
            self.assertIsNone(daemon.load_error())
        step("restored under abort; the guest reads and writes on through all of it")


if __name__ == "__main__":
    missing = testbed.why_not("virtiofsd-1.13.2", "qemu-system-x86_64", "vmlinuz")
    if missing:
        print("skipped:", missing)
        sys.exit(77)
    TOOL = sys.argv[sys.argv.index("--vfsmend") + 1]
    PROGRAM = sys.argv[sys.argv.index("--guest") + 1]
    unittest.main(argv=sys.argv[:1], verbosity=2)
