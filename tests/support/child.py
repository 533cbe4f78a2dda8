# SPDX-License-Identifier: Apache-2.0
"""Programs that a test starts: they end with the test, however it ends, and nothing else is ended."""
import ctypes
import os
import signal
import subprocess

libc = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG = 1


class Child:
    """with Child(words, log=PATH) as child: ...      log: where its standard error goes"""

    def __init__(self, words, log, fds=(), seconds=10):
        self.words, self.log_path, self.seconds = words, log, seconds
        with open(log, "wb") as err:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=err, stderr=err, pass_fds=fds,
                                            preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))
        for fd in fds:
            os.close(fd)  # else nobody would notice that the child is gone

    def log(self):
        with open(self.log_path, errors="surrogateescape") as f:
            return f.read()

    def wait(self):
        """-> the whole log, once it has ended by itself"""
        self.process.wait(self.seconds)
        return self.log()

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
