# SPDX-License-Identifier: Apache-2.0
"""The guest as the host sees it: what it boots from, and the serial line over which it is asked
(guest.cpp has the requests)."""
import os
import socket
import stat

import qemu_process
import testbed

# Without what is slow when every instruction is emulated.
KERNEL_OPTIONS = "console=ttyS0 quiet panic=-1 mitigations=off nokaslr tsc=reliable no_timer_check audit=0"


def initramfs(program, path, **others):
    """writes a cpio archive (newc) with the program as /init, others by their names, and the directories that it
    needs"""
    entries = []
    for name, source in {"init": program, **others}.items():
        with open(source, "rb") as f:
            entries.append((name, stat.S_IFREG | 0o755, f.read()))
    entries += [(name, stat.S_IFDIR | 0o755, b"") for name in ("dev", "proc", "share")] + [("TRAILER!!!", 0, b"")]
    padded = lambda data: data + b"\0" * (-len(data) % 4)
    with open(path, "wb") as f:
        for number, (name, mode, data) in enumerate(entries, 1):
            fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
            f.write(padded(b"070701" + b"".join(b"%08x" % n for n in fields) + name.encode() + b"\0") + padded(data))


class GuestError(Exception):
    """the guest got an error: its errno"""


class Machine(qemu_process.Qemu):
    """boots, or waits for a migration to come in"""

    def __init__(self, base, daemon, archive, options=()):
        self.line, theirs = socket.socketpair()
        self.heard = b""
        fd = theirs.detach()
        super().__init__(base, daemon, ["-chardev", f"socket,id=line,fd={fd}", "-serial", "chardev:line", "-no-reboot",
                                        "-kernel", testbed.path("vmlinuz"), "-initrd", archive, "-append", KERNEL_OPTIONS,
                                        *options], fds=(fd,), seconds=60)

    def answer(self, seconds):
        """-> the value of the next answer; all else on the line is of the kernel"""
        self.line.settimeout(seconds)
        other = b""
        while True:
            while b"\n" not in self.heard:
                try:
                    more = self.line.recv(65536)
                except TimeoutError:
                    more = b""
                if not more:
                    raise qemu_process.QemuError(f"the guest does not answer: {(other + self.heard)[-1000:]!r}")
                self.heard += more
            line, self.heard = self.heard.split(b"\n", 1)
            if line.startswith(b"!"):
                raise GuestError(int(line[1:]))
            if line.startswith(b"="):
                return os.fsdecode(line[1:])
            other += line + b"\n"

    def booted(self):
        if self.answer(120) != "ready":
            raise qemu_process.QemuError("the guest is not ready")

    def ask(self, *words):
        self.line.sendall(os.fsencode(" ".join(map(str, words))) + b"\n")
        return self.answer(30)

    def errno_of(self, *words):
        """-> the error with which a request ends, or 0"""
        try:
            self.ask(*words)
        except GuestError as e:
            return e.args[0]
        return 0

    def __exit__(self, *rest):
        super().__exit__(*rest)
        self.line.close()
