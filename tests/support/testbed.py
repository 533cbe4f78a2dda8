# SPDX-License-Identifier: Apache-2.0
"""The real programs that scripts/fetch-testbed brought: where they are, and what to say where they
are not."""
import os
import platform

NAMES = ("virtiofsd-1.13.2", "virtiofsd-1.14.0", "qemu-system-x86_64", "vmlinuz")


def folder():
    """as scripts/fetch-testbed has it"""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.abspath(os.environ.get("VFSMEND_TESTBED") or os.path.join(cache, "vfsmend", "testbed"))


def path(name):
    assert name in NAMES
    return os.path.join(folder(), name)


def why_not(*names):
    """why a test that needs these programs cannot run here, or nothing"""
    if platform.machine() != "x86_64":
        return f"the real programs are made for x86_64, this is {platform.machine()}"
    if os.geteuid() != 0:
        return "not root"
    missing = [name for name in names if not os.path.exists(path(name))]
    return f"no {', '.join(missing)} in {folder()} (scripts/fetch-testbed --qemu --kernel)" if missing else None
