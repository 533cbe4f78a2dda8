# SPDX-License-Identifier: Apache-2.0
"""A QEMU with one virtio-fs device, and its monitor (QMP). The machine is that of
fixtures/qemu/unstarted-guest.qemustate.gz, so that this stream can be put in and states like it come out."""
import json
import socket
import time

import child
import testbed


# What QEMU says when it is the daemon that does not take its state.
REFUSED_BY_DAEMON = "Back-end failed to process its internal state"


class QemuError(Exception):
    pass


class Qemu(child.Child):
    def __init__(self, base, daemon, options=(), fds=(), memory="256M", seconds=20):
        """base: a path that is extended by .log"""
        self.monitor, theirs = socket.socketpair()
        self.monitor.settimeout(seconds)
        fs, fd = daemon.take_front_end(), theirs.detach()
        words = [testbed.path("qemu-system-x86_64"), "-machine", "pc-q35-10.0,memory-backend=mem", "-accel", "tcg", "-m", memory,
                 "-object", f"memory-backend-memfd,id=mem,size={memory},share=on", "-nodefaults", "-display", "none",
                 "-chardev", f"socket,id=fs,fd={fs}",
                 "-device", "vhost-user-fs-pci,chardev=fs,tag=fs,addr=01.0",
                 "-chardev", f"socket,id=qmp,fd={fd}", "-mon", "chardev=qmp,mode=control", *options]
        super().__init__(words, base + ".log", fds=(fs, fd, *fds), seconds=seconds)
        self.lines = self.monitor.makefile("r")
        self.events = []
        try:
            self.message()  # the greeting
            self.command("qmp_capabilities")
        except QemuError:
            self.stop()
            raise

    def message(self):
        try:
            line = self.lines.readline()
        except (TimeoutError, ConnectionError) as e:
            raise QemuError(f"QEMU: {e}: {self.log()[-500:]}") from None
        if not line:
            raise QemuError(f"QEMU has ended: {self.log()[-500:]}")
        return json.loads(line)

    def command(self, name, /, **arguments):
        """-> what it returns"""
        self.monitor.sendall(json.dumps({"execute": name, "arguments": arguments}).encode() + b"\n")
        while "event" in (answer := self.message()):
            self.events.append(answer)
        if "error" in answer:
            raise QemuError(f"{name}: {answer['error']['desc']}")
        return answer["return"]

    def capabilities(self, *names):
        self.command("migrate-set-capabilities", capabilities=[{"capability": name, "state": True} for name in names])

    def migrate(self, path):
        self.command("migrate", uri="file:" + path)
        return self.migrated()

    def incoming(self, path):
        self.command("migrate-incoming", uri="file:" + path, **{"exit-on-error": False})
        return self.migrated()

    def migrated(self):
        """-> the status in which a migration ended, and the error"""
        until = time.monotonic() + self.seconds
        while time.monotonic() < until:
            told = self.command("query-migrate")
            if told.get("status") in ("completed", "failed"):
                return told["status"], told.get("error-desc", "")
            time.sleep(0.005)
        raise QemuError(f"a migration that does not end: {told}")

    def quit(self):
        try:
            self.command("quit")
            self.wait()
        finally:
            self.stop()

    def __exit__(self, *_):
        self.stop()
        self.lines.close()
        self.monitor.close()
