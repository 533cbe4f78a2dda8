#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long `vfsmend check` takes beside the load that it predicts: the same state, the same share, one
after the other, and the median of the pairs.

  bench/against_daemon.py --vfsmend BIN --virtiofsd 'COMMAND ..' [--inodes N] [--rounds R] [--handles]

COMMAND starts virtiofsd without its --shared-dir and --socket-path (`virtiofsd --sandbox none --seccomp
none`). The daemon's time is that of the load alone, from the state's first byte to its answer; vfsmend's
is that of the whole process. Beyond 19,000 inodes the daemon needs --inode-file-handles=mandatory."""
import argparse, os, shlex, shutil, socket, statistics, struct, subprocess, sys, tempfile, time
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures"))
import file_handle, state_codec

GET_FEATURES, GET_PROTOCOL_FEATURES, SET_DEVICE_STATE_FD, CHECK_DEVICE_STATE = 1, 15, 42, 43


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


class Daemon:
    def __init__(self, command, share, directory):
        self.path = os.path.join(directory, "socket")
        self.process = subprocess.Popen(command + ["--shared-dir", share, "--socket-path", self.path],
                                        stderr=subprocess.PIPE)
        self.socket = socket.socket(socket.AF_UNIX)
        end = time.monotonic() + 10
        while True:
            try:
                self.socket.connect(self.path)
                break
            except (FileNotFoundError, ConnectionRefusedError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.005)
        self.socket.settimeout(60)

    def ask(self, request, payload=b"", fd=None):
        message = struct.pack("<III", request, 1, len(payload)) + payload
        if fd is None:
            self.socket.sendall(message)
        else:
            socket.send_fds(self.socket, [message], [fd])
        header = self.socket.recv(12, socket.MSG_WAITALL)
        return struct.unpack("<Q", self.socket.recv(struct.unpack("<III", header)[2], socket.MSG_WAITALL))[0]

    def load(self, state):
        """-> seconds"""
        self.ask(GET_FEATURES)
        self.ask(GET_PROTOCOL_FEATURES)
        out, into = os.pipe()
        begin = time.perf_counter()
        self.ask(SET_DEVICE_STATE_FD, struct.pack("<II", 1, 0), out)
        os.close(out)
        with os.fdopen(into, "wb") as pipe:
            pipe.write(state)
        failed = self.ask(CHECK_DEVICE_STATE)
        seconds = time.perf_counter() - begin
        if failed:
            self.close()
            raise RuntimeError(self.process.stderr.read().decode(errors="replace")[-400:])
        return seconds

    def close(self):
        self.socket.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()


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
        mine = [a.vfsmend, "check", "--profile", "virtiofsd", "--format", "json", "--shared-dir", share, state_file]
        pairs = []
        for _ in range(a.rounds):
            daemon = Daemon(shlex.split(a.virtiofsd), share, base)
            theirs = daemon.load(state)
            daemon.close()
            os.path.exists(daemon.path) and os.unlink(daemon.path)
            pairs.append((theirs, check(mine)))
        theirs, ours = (statistics.median(p[i] for p in pairs) for i in (0, 1))
        ratio = statistics.median(p[1] / p[0] for p in pairs)
        print(f"{a.inodes} inodes{', handles compared' if a.handles else ''}: load {theirs * 1e3:.1f} ms "
              f"({theirs / a.inodes * 1e6:.2f} us an inode), check {ours * 1e3:.1f} ms "
              f"({ours / a.inodes * 1e6:.2f} us an inode), ratio {ratio:.2f} ({a.rounds} pairs)")
    finally:
        shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
