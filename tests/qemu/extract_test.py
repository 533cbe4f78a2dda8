#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`vfsmend repair --extract`: the stream that QEMU 10 put into a qcow2 image is the one that it takes in again.

A machine that was never started gets the state of a guest that knows files, and saves itself into an
image that QEMU made (snapshot-save, what savevm is). Then a file of the share goes. The stream is taken
out: as it is, a QEMU refuses it; mended, it goes on. The same stream behind libvirt's header.

  extract_test.py --vfsmend PATH     exit 77: cannot be played here
"""
import argparse
import gzip
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import incoming_test  # noqa: E402  (it sets the path to what follows)
import containers  # noqa: E402
import qemu_process  # noqa: E402
import state_codec  # noqa: E402
import testbed  # noqa: E402
import tree  # noqa: E402
import virtiofsd  # noqa: E402

DAEMON = ["--sandbox", "none"]
MACHINE = ["-S", "-serial", "null", "-incoming", "defer"]
# Clusters of the sizes that people use, of the smallest one, and with subclusters.
IMAGES = [{}, {"cluster-size": 512}, {"cluster-size": 2 << 20}, {"extended-l2": True, "cluster-size": 16384},
          {"version": "v2"}]


def guest_state():
    """a, which is open, and d/b, which is not"""
    return state_codec.encode({
        "version": 2, "next_inode": 5, "next_handle": 1, "options": [0, 0, 0, 0], "mount_paths": {},
        "inodes": [{"id": 1, "rc": 4, "loc": "root"}, {"id": 2, "rc": 1, "loc": "path", "parent": 1, "name": "a"},
                   {"id": 3, "rc": 2, "loc": "path", "parent": 1, "name": "d"},
                   {"id": 4, "rc": 1, "loc": "path", "parent": 3, "name": "b"}],
        "handles": [{"id": 0, "inode": 2, "flags": 0x8002}]})


def job(qemu, name, /, **arguments):
    """runs a job to its end; a job that failed is an error"""
    qemu.command(name, **{"job-id": "j", **arguments})
    until = time.monotonic() + qemu.seconds
    while time.monotonic() < until:
        told = qemu.command("query-jobs")[0]
        if told["status"] == "concluded":
            qemu.command("job-dismiss", id="j")
            if "error" in told:
                raise qemu_process.QemuError(f"{name}: {told['error']}")
            return
        time.sleep(0.01)
    raise qemu_process.QemuError(f"{name}: it does not end")


def make_image(qemu, path, options, size):
    file = {"driver": "file", "filename": path}
    job(qemu, "blockdev-create", options={**file, "size": 0})
    qemu.command("blockdev-add", **{"node-name": "file", **file})
    job(qemu, "blockdev-create", options={"driver": "qcow2", "file": "file", "size": size, **options})
    qemu.command("blockdev-add", **{"node-name": "disk", "driver": "qcow2", "file": "file"})


def saved(share, base, stream, options, size):
    """-> an image with two snapshots of the machine that `stream` is, without and with a VM state"""
    image = os.path.join(base, "disk.qcow2")
    with virtiofsd.Virtiofsd(share, os.path.join(base, "daemon"), DAEMON) as daemon:
        with qemu_process.Qemu(os.path.join(base, "qemu"), daemon, MACHINE) as qemu:
            qemu.capabilities("x-ignore-shared")
            status, error = qemu.incoming(stream)
            if status != "completed":
                raise AssertionError(f"the guest's state was not taken: {error} {daemon.log()}")
            make_image(qemu, image, options, size)
            qemu.command("blockdev-snapshot-internal-sync", device="disk", name="disk-only")
            job(qemu, "snapshot-save", tag="before", vmstate="disk", devices=["disk"])
            qemu.quit()
    return image


def extract(tool, mode, share, snapshot, to, *more):
    run = subprocess.run([tool, "repair", mode, "--extract", to, "--shared-dir", share, "--daemon-args", " ".join(DAEMON),
                          "--format", "json", *more, snapshot], capture_output=True, text=True, timeout=60)
    return run.returncode, json.loads(run.stdout) if run.stdout else run.stderr


def expect(what, got, want):
    if got != want:
        raise AssertionError(f"{what}: {str(got)[:300]!r}, and not {str(want)[:300]!r}")


def load(share, stream, base):
    return incoming_test.real(share, DAEMON, stream, base)["outcome"]


def read(path):
    with open(path, "rb") as f:
        return f.read()


def play_image(tool, base, options, size):
    share = os.path.join(base, "S")
    os.mkdir(share)
    tree.build(share, [{"p": "a", "t": "f", "data": "1"}, {"p": "d", "t": "d"}, {"p": "d/b", "t": "f", "data": "2"}])
    stream = os.path.join(base, "stream")
    containers.write(stream, containers.qemu_splice(gzip.open(containers.QEMU_SAMPLE).read(), guest_state()))
    image = saved(share, base, stream, options, size)
    before = read(image)
    healthy = os.path.join(base, "healthy")
    exit_code, report = extract(tool, "-y", share, image, healthy)
    expect("healthy", exit_code, 0)
    expect("its mode", oct(os.stat(healthy).st_mode & 0o7777), "0o600")
    expect("a QEMU takes it", load(share, healthy, base), "succeeds")
    expect("taken out of", report["repair"]["extracted_from"], image)
    if "-incoming" not in report["repair"]["use"] or "'before'" not in report["repair"]["use"]:
        raise AssertionError(f"not told how it is used: {report['repair']['use']}")
    os.unlink(os.path.join(share, "d/b"))
    broken, mended = os.path.join(base, "broken"), os.path.join(base, "mended")
    expect("-n", extract(tool, "-n", share, image, broken, "--vm-state", "before")[0], 4)
    expect("as it was", read(broken) == read(healthy), True)
    expect("a QEMU refuses it", load(share, broken, base), "fails")
    expect("-p", extract(tool, "-p", share, image, mended)[0], 1)
    expect("a QEMU takes it", load(share, mended, base), "succeeds")
    expect("there already", extract(tool, "-p", share, image, mended)[0], 16)
    expect("no such state", extract(tool, "-p", share, image, os.path.join(base, "x"), "--vm-state", "after")[0], 16)
    expect("the image", read(image) == before, True)
    return share, healthy


def play_libvirt(tool, base, share, stream):
    """header, XML and stream, and the header before the mended one as the report says"""
    xml = b"<domain/>\0" + b"<cookie/>\0"
    header = struct.pack("<16s5I", b"LibvirtQemudSave", 2, len(xml) + 65536, 1, 0, len(xml) - 10).ljust(92, b"\0")
    before = header + xml + b"\0" * 65536
    save, mended, again = (os.path.join(base, name) for name in ("vm's.save", "libvirt-stream", "again"))
    containers.write(save, before + read(stream))
    exit_code, report = extract(tool, "-p", share, save, mended)
    expect("libvirt", exit_code, 1)
    expect("a QEMU takes it", load(share, mended, base), "succeeds")
    command = re.search(r"`(\(umask .*?)`", report["repair"]["use"])
    subprocess.run(command.group(1), shell=True, check=True, cwd=base)
    expect("with its header", read(os.path.join(base, "NEW.save")) == before + read(mended), True)
    expect("nothing left", extract(tool, "-p", share, os.path.join(base, "NEW.save"), again)[0], 0)
    expect("taken out again", read(again) == read(mended), True)
    containers.write(save, (before + read(stream))[:60000])
    exit_code, report = extract(tool, "-p", share, save, os.path.join(base, "torn"))
    expect("torn", exit_code, 8)
    expect("nothing is left of it", os.path.exists(os.path.join(base, "torn")), False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--vfsmend", required=True)
    a = parser.parse_args()
    if why_not := testbed.why_not("virtiofsd-1.13.2", "qemu-system-x86_64"):
        print("skipped:", why_not)
        return 77
    bad = 0
    for i, options in enumerate(IMAGES):
        base = os.path.realpath(tempfile.mkdtemp(prefix="vfsmend-extract-"))
        try:
            share, healthy = play_image(a.vfsmend, base, options, (i + 1) * 7 << 20)
            if not options:
                play_libvirt(a.vfsmend, base, share, healthy)
        except (AssertionError, OSError, ValueError, LookupError, subprocess.SubprocessError, qemu_process.QemuError) as e:
            bad += 1
            print(f"{options}: {type(e).__name__}: {e}")
        finally:
            tree.remove(base)
    print(f"{len(IMAGES)} images, {bad} otherwise than expected")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
