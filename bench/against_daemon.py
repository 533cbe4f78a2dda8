#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long `vfsmend check` takes beside the load that it predicts: the same state, the same share, one
after the other, and the median of the pairs.

  bench/against_daemon.py --vfsmend BIN --virtiofsd PROGRAM [--inodes N] [--rounds R] [--handles]
                          [--manifest] [-- SWITCH..]

Switches behind -- are the daemon's, and the prediction is made for them too. The daemon's time is that of
the load alone, from the state's hand-over to its answer, as `vfsmend rehearse` has it; ours is that of the
whole process. Beyond 19,000 inodes the daemon needs --inode-file-handles=mandatory."""
import argparse, json, os, shlex, shutil, statistics, subprocess, sys, tempfile, time
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures"))
import file_handle, state_codec


def make(root, count):
    """a share of `count` inodes (ten entries a directory, two of them directories) and its state"""
    os.mkdir(root)
    inodes = [{"id": 1, "rc": 2, "loc": "root"}]
    where, directories, here = {1: root}, [1], 0
    for number in range(2, count + 1):
        if here == 10:
            directories.pop(0)
            here = 0
        parent, is_dir = directories[0], here < 2
        name = ("d%06x" if is_dir else "module_%06x.py") % number
        path = os.path.join(where[parent], name)
        if is_dir:
            os.mkdir(path)
            where[number] = path
            directories.append(number)
        else:
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))
        inodes.append({"id": number, "rc": 1, "loc": "path", "parent": parent, "name": name, "path": path})
        inodes[parent - 1]["rc"] += 1
        here += 1
    return inodes


def with_handles(root, inodes):
    for inode in inodes:
        inode["fh"] = file_handle.file_handle(inode.get("path", root))


def load(command):
    """-> seconds"""
    run = subprocess.run(command, stdout=subprocess.PIPE)
    said = json.loads(run.stdout)["devices"][0]["rehearsal"]
    if run.returncode != 0:
        raise RuntimeError(f"{shlex.join(command)}: exit {run.returncode}: {said}")
    return said["load_us"] / 1e6


def check(command):
    begin = time.perf_counter()
    status = subprocess.run(command, stdout=subprocess.DEVNULL).returncode
    if status != 0:
        raise RuntimeError(f"{shlex.join(command)}: exit {status}")
    return time.perf_counter() - begin


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--vfsmend", required=True)
    ap.add_argument("--virtiofsd", required=True)
    ap.add_argument("--inodes", type=int, default=10000)
    ap.add_argument("--rounds", type=int, default=9)
    ap.add_argument("--handles", action="store_true", help="the state carries handles, and both compare them")
    ap.add_argument("--manifest", action="store_true",
                    help="check compares metadata and file handles with a capture; the daemon has none of it")
    ap.add_argument("switches", nargs="*", help="of the daemon, behind --")
    a = ap.parse_args()
    base = tempfile.mkdtemp(prefix="vfsmend-bench-")
    try:
        share, state_file = os.path.join(base, "share"), os.path.join(base, "state")
        inodes = make(share, a.inodes)
        if a.handles:
            with_handles(share, inodes)
        state = state_codec.encode({"inodes": inodes, "next_inode": a.inodes + 1, "handles": [], "next_handle": 0,
                                    "options": [0, 0, 0, 0]})
        with open(state_file, "wb") as f:
            f.write(state)
        common = ["--format", "json", "--shared-dir", share, "--sandbox", "none", *a.switches, state_file]
        mine = [a.vfsmend, "check", "--profile", "virtiofsd", *common]
        its = [a.vfsmend, "rehearse", "--virtiofsd", a.virtiofsd, "--deadline", "120000", *common]
        if a.manifest:
            subprocess.run([a.vfsmend, "capture", "--profile", "virtiofsd", "--shared-dir", share, state_file],
                           check=True, stdout=subprocess.DEVNULL)
        pairs = [(load(its), check(mine)) for _ in range(a.rounds)]
        theirs, ours = (statistics.median(p[i] for p in pairs) for i in (0, 1))
        ratio = statistics.median(p[1] / p[0] for p in pairs)
        print(f"{a.inodes} inodes{', handles compared' if a.handles else ''}"
              f"{', against a capture' if a.manifest else ''}: load {theirs * 1e3:.1f} ms "
              f"({theirs / a.inodes * 1e6:.2f} us an inode), check {ours * 1e3:.1f} ms "
              f"({ours / a.inodes * 1e6:.2f} us an inode), ratio {ratio:.2f} ({a.rounds} pairs)")
    finally:
        shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
