#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A snapshot's file is replaced in one step: killed before any system call, and with any of them
failing, the path holds the old file or the new one, whole; the old one is never lost.

  splice_test.py PUT_STATE     exit 77: cannot be played here
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

OLD, NEW, STATE = b"the old state" * 1000, b"a new one" * 3000, "state.bin"
# Of the calls that change something or that what changes depends on. The names of an architecture
# that has no renameat are the ones that strace takes for it.
CALLS = "openat,pwrite64,copy_file_range,lseek,ftruncate,fstat,newfstatat,fchmod,fchown,fsync,linkat,renameat,unlinkat,fremovexattr,fsetxattr"
LITTER = re.compile(r"^(stream|kept)\.[0-9a-f]{6}$")  # of a file system without O_TMPFILE, after a kill


def run(tool, folder, inject=()):
    """-> exit status, names in the folder, calls that were seen"""
    stream = os.path.join(folder, "stream")
    log = folder + ".strace"
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))
    with open(stream, "wb") as f:
        f.write(OLD)
    words = ["strace", "-qq", "-y", "-o", log, "-e", "trace=" + CALLS, "-e", "signal=none"]
    for fault in inject:
        words += ["-e", "inject=" + fault]
    done = subprocess.run(words + [tool, stream, "kept", "raw", os.path.join(os.path.dirname(folder), STATE)],
                          stderr=subprocess.DEVNULL, timeout=60)
    with open(log) as f:
        return done.returncode, sorted(os.listdir(folder)), f.read().splitlines()


def content(folder, name):
    with open(os.path.join(folder, name), "rb") as f:
        return f.read()


def judge(folder, names, status, killed):
    """-> what is wrong"""
    wrong = []
    if "stream" not in names:
        return ["the path holds nothing"]
    now = content(folder, "stream")
    if now not in (OLD, NEW):
        wrong.append("the path holds neither the old nor the new file")
    if now == NEW and "kept" not in names:
        wrong.append("the old file is lost")
    if "kept" in names and content(folder, "kept") != OLD:
        wrong.append("what is kept is not the old file")
    if status == 0 and (now != NEW or names != ["kept", "stream"]):
        wrong.append(f"success, and there are {names}")
    rest = [name for name in names if name not in ("stream", "kept")]
    if not killed and (rest or (now == OLD and "kept" in names)):
        wrong.append(f"litter: {names}")
    if killed and not all(LITTER.match(name) for name in rest):
        wrong.append(f"unknown files: {names}")
    return wrong


def counts(lines):
    """-> how often each call was made"""
    found = {}
    for line in lines:
        name = line.split("(", 1)[0]
        if name.isidentifier():
            found[name] = found.get(name, 0) + 1
    return found


def order(lines, folder):
    """what has to be on disk before what: a crash that loses what was not synced changes nothing"""
    steps = []
    for line in lines:
        name = line.split("(", 1)[0]
        if name == "fsync":
            steps.append("sync directory" if f"<{folder}>" in line else "sync file")
        elif name == "linkat":
            steps.append("keep" if '"kept"' in line else "name")
        elif name == "renameat":
            steps.append("replace")
    want = ["sync file", "keep", "sync directory", "name", "replace", "sync directory"]
    steps = [step for step in steps if step != "name"]
    want.remove("name")
    return [] if steps == want else [f"in the order {steps}"]


def main():
    tool = sys.argv[1]
    base = os.path.realpath(tempfile.mkdtemp(prefix="vfsmend-splice-"))
    folder = os.path.join(base, "snapshot")
    try:
        os.mkdir(folder)
        with open(os.path.join(base, STATE), "wb") as f:
            f.write(NEW)
        try:
            status, names, lines = run(tool, folder)
        except FileNotFoundError:
            print("skipped: no strace")
            return 77
        if not lines:
            print("skipped: strace cannot trace here")
            return 77
        wrong = judge(folder, names, status, False) + ([f"exit {status}"] if status else []) + order(lines, folder)
        tries = 0
        # No hard links, no sharing of extents, no O_TMPFILE: another way to the same.
        opened = [line for line in lines if line.startswith("openat")]
        tmpfile = 1 + next(i for i, line in enumerate(opened) if "O_TMPFILE" in line)
        for faults in (["linkat:error=EPERM:when=1"], ["linkat:error=EMLINK:when=1"], ["copy_file_range:error=EXDEV"],
                       [f"openat:error=EOPNOTSUPP:when={tmpfile}"],
                       ["linkat:error=EPERM:when=1", f"openat:error=EOPNOTSUPP:when={tmpfile}", "copy_file_range:error=ENOSYS"]):
            status, names, other = run(tool, folder, faults)
            tries += 1
            if bad := judge(folder, names, status, False) + ([f"exit {status}"] if status else []):
                wrong.append(f"{faults}: {bad}")
            lines += other
        for name, count in counts(lines).items():
            for when in range(1, count + 1):
                for fault in (f"{name}:error=EIO:when={when}", f"{name}:signal=KILL:when={when}"):
                    for way in ([fault], [fault] + ([] if name == "linkat" else ["linkat:error=EPERM:when=1"])):
                        status, names, _ = run(tool, folder, way)
                        tries += 1
                        if bad := judge(folder, names, status, "KILL" in fault):
                            wrong.append(f"{way}: exit {status}: {bad}")
        print("\n".join(wrong) or f"{tries} faults, none of them felt")
        return 1 if wrong else 0
    finally:
        shutil.rmtree(base)


if __name__ == "__main__":
    sys.exit(main())
