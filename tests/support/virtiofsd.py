# SPDX-License-Identifier: Apache-2.0
"""A real virtiofsd, as the other end of a socket. It serves one connection and ends with it."""
import re
import socket

import child
import testbed

# What it says of a load that failed. The text may itself have more than one line, if a name does: the
# log indents those that follow.
FAILED = re.compile(r"Migration failed: Failed to load state: (.*?)\n(?=\[\d{4}-\d\d-\d\dT|\Z)", re.S)


class Virtiofsd(child.Child):
    def __init__(self, share, base, options, version="1.13.2"):
        """base: a path that is extended by .log"""
        self.front_end = socket.socket(socket.AF_UNIX)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("")  # a name without a file; and nobody has to wait until the daemon made one
            listener.listen(1)
            self.front_end.connect(listener.getsockname())
            fd = listener.detach()
        words = [testbed.path("virtiofsd-" + version), "--shared-dir", share, "--fd", str(fd), "--seccomp", "none", *options]
        super().__init__(words, base + ".log", fds=(fd,))

    def take_front_end(self):
        """-> the descriptor of the connection, for who will speak to the daemon"""
        return self.front_end.detach()

    def __exit__(self, *rest):
        self.front_end.close()
        super().__exit__(*rest)

    def load_error(self):
        """the text with which a load failed, or nothing; to be asked when it has ended"""
        found = FAILED.findall(self.wait())
        return found[-1].replace("\n    ", "\n") if found else None
