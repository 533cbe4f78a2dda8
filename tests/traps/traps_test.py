#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looking has no side effects, whatever a tenant has put in the place of a file. Every name of a
fixture's tree becomes in turn a FIFO, a device, a socket, a link out of the share, and a directory
on a file system that never answers; strace watches `vfsmend check` meanwhile. It must end, open
nothing of the share beyond O_PATH, and change nothing.

One exception, by design (lib/verdict/check.h): the listing of the share's root directory.

  traps_test.py --vfsmend PATH [--case CASE]...      exit 77: cannot be played here
"""
import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TESTS, "support"), os.path.join(os.path.dirname(TESTS), "fixtures")]
import make  # noqa: E402
import never_answers  # noqa: E402
import tree  # noqa: E402

# Fixtures in which every kind of record and of flags is met; the rest would only repeat them.
CASES = ("OK-all-there", "OK-cube-package", "OK-file-handles-stored", "OK-file-handles-mode", "OK-allowed-dir",
         "S001-all-locations-lost", "S004-lost-directory", "S005-truncate", "S005-append", "P003-directory-became-link",
         "P004-dot-dot", "P004-through-a-link", "R001-shadow", "H002-mode")
TRAPS = ("fifo", "device", "socket", "link", "never-answers")
OPENS = ("open", "openat", "openat2", "creat", "open_by_handle_at")
CHANGES = ("unlink", "unlinkat", "rename", "renameat", "renameat2", "mkdir", "mkdirat", "rmdir", "mknod", "mknodat", "link", "linkat",
           "symlink", "symlinkat", "chmod", "fchmod", "fchmodat", "chown", "fchown", "lchown", "fchownat", "utimensat", "utime",
           "utimes", "futimesat", "truncate", "ftruncate", "fallocate", "setxattr", "lsetxattr", "fsetxattr", "removexattr",
           "lremovexattr", "fremovexattr", "mount", "umount2", "bind", "pwrite64", "pwritev", "sendfile", "copy_file_range")
STATUSES = (0, 2, 4, 5, 8)
CALL = re.compile(r"^(?:\[pid +\d+\] |\d+ +)?(\w+)\((.*)$")
PATHS = re.compile(r'"((?:[^"\\]|\\.)*)"')
DESCRIPTORS = re.compile(r"(?:AT_FDCWD|\b\d+)<((?:[^<>\\]|\\.)*)>")


def spring(kind, path, outside):
    """puts a trap where `path` is"""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)
    name = {"fifo": "p", "device": "c", "socket": "s"}.get(kind)
    if name:
        tree.build(os.path.dirname(path), [{"p": os.path.basename(path), "t": name}])
    elif kind == "link":
        os.symlink(outside, path)
    else:
        os.mkdir(path)


def watched(tool, words, log):
    """-> exit status, lines of the log"""
    trace = ",".join("?" + name for name in OPENS + CHANGES)  # ?: not every machine has each of them
    strace = ["strace", "-f", "-qq", "-y", "-s", "4096", "-o", log, "-e", "trace=" + trace, "-e", "signal=none"]
    done = subprocess.run(strace + [tool] + words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60)
    if done.returncode not in STATUSES:
        raise AssertionError(f"exit {done.returncode}: {done.stderr.decode(errors='replace')[-500:]}")
    with open(log, errors="surrogateescape") as f:
        return f.read().splitlines()


def places(call):
    """the paths that a line of strace names: of its descriptors, and its strings taken from these"""
    found = DESCRIPTORS.findall(call)
    strings = PATHS.findall(call)
    return found + [os.path.normpath(os.path.join(found[0] if found else "/", s)) for s in strings]


def violations(lines, base, share, snapshot):
    wrong = []
    for line in lines:
        match = CALL.match(line)
        if not match:
            continue
        name, rest = match.groups()
        inside = [p for p in places(rest) if p == base or p.startswith(base + "/")]
        if name in CHANGES:
            wrong.append(f"a change: {line}")
        elif re.search(r"O_(CREAT|TRUNC|TMPFILE)\b", rest):
            wrong.append(f"an open that makes or empties: {line}")
        elif re.search(r"O_(WRONLY|RDWR)\b", rest) and "/dev/null" not in rest:
            wrong.append(f"an open for writing: {line}")
        elif "O_PATH" not in rest:
            for place in inside:
                listing = place == share and "O_DIRECTORY" in rest
                if not listing and not place.startswith(snapshot):
                    wrong.append(f"more than O_PATH: {line}")
                    break
    return wrong


def play(tool, name, trap, entry, base):
    """-> what is wrong, with one entry of the case's tree replaced"""
    case = make.load(name)
    built = make.build(dict(case, after=[], after_beside=[]), base)
    outside = os.path.join(built.base, "secret")
    os.mkdir(outside)
    spring(trap, os.path.join(built.share, entry), outside)
    tree.age(built.base)
    before = tree.look(built.base)
    log = built.base + ".trace"
    wrong = []
    for check in case["checks"]:
        words = make.arguments(case, check, built)
        if trap == "never-answers":
            with never_answers.NeverAnswers(os.path.join(built.share, entry)):
                lines = watched(tool, words + ["--deadline", "300"], log)
        else:
            lines = watched(tool, words, log)
        if not any("openat2(" in line for line in lines):
            wrong.append("strace saw no openat2: the test sees nothing")
        wrong += violations(lines, built.base, built.share, built.snapshot)
        os.unlink(log)
    return wrong + [f"changed: {d}" for d in tree.differences(before, tree.look(built.base))]


def entries_of(name):
    return [entry["p"] for entry in make.load(name).get("tree", []) if entry["t"] in "fdlh"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--vfsmend", required=True)
    parser.add_argument("--case", action="append")
    a = parser.parse_args()
    why_not = never_answers.can_mount() or (None if shutil.which("strace") else "no strace")
    if why_not:
        print("skipped:", why_not)
        return 77
    never_answers.private_mounts()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    base = os.path.realpath(tempfile.mkdtemp(prefix="vfsmend-traps-"))
    played, bad = 0, 0
    try:
        for name in a.case or CASES:
            for entry in entries_of(name):
                for trap in TRAPS:
                    played += 1
                    try:
                        wrong = play(a.vfsmend, name, trap, entry, os.path.join(base, str(played)))
                    except (AssertionError, subprocess.TimeoutExpired) as e:
                        wrong = [str(e)]
                    bad += bool(wrong)
                    for line in wrong[:5]:
                        print(f"{name}: {entry} as {trap}: {line}")
    finally:
        tree.remove(base)
    print(f"{played} traps, {bad} sprung")
    return 1 if bad or not played else 0


if __name__ == "__main__":
    sys.exit(main())
