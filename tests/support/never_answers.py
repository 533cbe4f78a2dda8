# SPDX-License-Identifier: Apache-2.0
"""A file system whose server is there and does not answer: what a hung NFS server or a stopped FUSE
daemon is to a program that looks at a file.

  deaf  reads no request at all: whoever waits for it can still be killed
  mute  takes every request and answers none but the first (INIT): whoever waits for it sits in an
        uninterruptible sleep, and SIGKILL does not help
"""
import ctypes
import os
import select
import struct
import threading

libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, MS_REC, MS_PRIVATE, MNT_DETACH = 0x20000, 0x4000, 0x40000, 2
FUSE_INIT = 26


def call(function, *arguments):
    if function(*arguments):
        error = ctypes.get_errno()
        raise OSError(error, f"{function.__name__}: {os.strerror(error)}")


def private_mounts():
    """From here on the mounts of this process and its children are their own, and go with them."""
    call(libc.unshare, CLONE_NEWNS)
    call(libc.mount, b"none", b"/", None, MS_REC | MS_PRIVATE, None)


class NeverAnswers:
    """with NeverAnswers(directory, "deaf"): ..."""

    def __init__(self, directory, kind="deaf"):
        self.directory, self.kind = os.fsencode(directory), kind
        self.stopping, self.server = threading.Event(), None

    def __enter__(self):
        self.fd = os.open("/dev/fuse", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        options = b"fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % self.fd
        try:
            call(libc.mount, b"never-answers", self.directory, b"fuse", 0, options)
        except OSError:
            os.close(self.fd)
            raise
        if self.kind == "mute":
            self.server = threading.Thread(target=self.serve)
            self.server.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        if self.server:
            self.server.join()
        os.close(self.fd)  # the last descriptor of the connection: it is aborted, and all waiters go on
        call(libc.umount2, self.directory, MNT_DETACH)

    def serve(self):
        while not self.stopping.is_set():
            if not select.select([self.fd], [], [], 0.05)[0]:
                continue
            request = os.read(self.fd, 1 << 17)
            _, opcode, unique = struct.unpack_from("=IIQ", request)
            if opcode == FUSE_INIT:
                reply = struct.pack("=IIIIHHIIHHI", 7, 31, 65536, 0, 12, 9, 65536, 1, 0, 0, 0) + b"\0" * 28
                os.write(self.fd, struct.pack("=IiQ", 16 + len(reply), 0, unique) + reply)


def can_mount():
    """why not, or nothing"""
    if os.geteuid() != 0:
        return "not root"
    return None if os.path.exists("/dev/fuse") else "no /dev/fuse"
