# SPDX-License-Identifier: Apache-2.0
"""Random trees with everything in them that a manifest has a column for, and what Python sees in one.
Names are bytes. The same dice make the same tree, but for inode numbers and handles."""
import dataclasses
import os
import re
import stat
import zlib

import file_handle

KEPT = b"kept"  # at the top, and nothing takes it away: a share that lost all its names is R001
DEEPEST = 4     # names of 255 bytes, escaped fourfold, have to fit into mtree's lines

# Bytes that end words, begin comments, match as patterns or escape in one of the formats.
PIECES = [b"plain", b"x", b" ", b"\n", b"\t", b"\r", b"\\", b"#", b"=", b"*", b"[", b"]", b"?", b'"', b"'", b"{a,b}",
          b"%s", b"$", b"-", b"~", b"..", b"\x01", b"\x7f", b"\\s", b"\\012", b"\\M-i", b"@", b"!",
          "\u00e9".encode(), "\u0085".encode(), "\u2028".encode(), "\U0001f600".encode()]
NOT_UTF8 = [b"\xff", b"\xc3", b"\x80\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xc0\xaf"]
MODES = [0o644, 0o755, 0o600, 0o000, 0o777, 0o4755, 0o2755, 0o6711, 0o1777, 0o7777, 0o4000, 0o2644]
OWNERS = [0, 1, 1000, 65534, 65535, 65536, 100000, 2**31 - 1, 2**31, 2**32 - 2]
DEVICES = [(1, 3), (5, 300), (259, 1048575), (4095, 7), (0, 1)]


def random_name(dice):
    """":" is in none: behind it mtree says what is different"""
    name = b"".join(dice.choice(PIECES) for _ in range(dice.randint(1, 4)))
    if dice.random() < 0.08:
        name += dice.choice(NOT_UTF8)
    if dice.random() < 0.04:
        name = (name + dice.choice([b"l", b"\n", b"\\", b"*"]) * 255)[:255]
        name = name if is_utf8(name) else b"l" * 255
    return name if name not in (b".", b"..") else name + b"x"


def as_pattern(name):
    """as a specification has it: a name that looks like a pattern is one that matches just itself"""
    return re.sub(rb"[*?\[\\]", rb"\\\g<0>", name) if re.search(rb"[*?\[]", name) else name


def free_name(dice, directory):
    """not one that is spelled like another one's pattern: mtree compares both the pattern and its letters"""
    there = {spelled for name in os.listdir(directory) for spelled in (name, as_pattern(name))}
    while True:
        name = random_name(dice)
        if not there & {name, as_pattern(name)}:
            return os.path.join(directory, name)


def random_time(dice):
    """ns: before 1970, before 2038, or behind it (64 bits of ns end in 2262)"""
    begin, end = dice.choice([(-2**31, -1), (0, 2**31 - 1), (1_600_000_000, 1_800_000_000), (2**31, 9_200_000_000)])
    return dice.randint(begin, end) * 10**9 + dice.choice([0, 1, 999_999_999, dice.randrange(10**9)])


def random_target(dice):
    return b"".join(dice.choice(PIECES + NOT_UTF8 + [b"/", b"../"]) for _ in range(dice.randint(1, 12)))


def random_bytes(dice, longest=6000):
    return dice.randbytes(dice.choice([0, 1, 100, dice.randrange(longest)]))


def make_one(dice, path, kind, sparse=False):
    """False: this machine has no such thing"""
    if kind == "file":
        with open(path, "wb") as f:
            f.write(random_bytes(dice))
            if sparse and dice.random() < 0.1:
                f.truncate(dice.choice([2**31, 2**32 + 1, 2**40 + 12345]))
    elif kind == "dir":
        os.mkdir(path)
    elif kind == "link":
        os.symlink(random_target(dice), path)
    elif kind in ("fifo", "socket"):
        os.mknod(path, 0o600 | (stat.S_IFIFO if kind == "fifo" else stat.S_IFSOCK))
    else:
        try:
            os.mknod(path, 0o600 | (stat.S_IFCHR if kind == "char" else stat.S_IFBLK),
                     os.makedev(*dice.choice(DEVICES)))
        except OSError:
            return False
    return True


def dress(dice, path):
    """owner, mode and times; the owner first, since it clears bits of the mode"""
    if dice.random() < 0.6:
        os.chown(path, dice.choice(OWNERS), dice.choice(OWNERS), follow_symlinks=False)
    if not os.path.islink(path):
        os.chmod(path, dice.choice(MODES) if dice.random() < 0.8 else dice.randrange(0o10000))
    if dice.random() < 0.8:
        os.utime(path, ns=(random_time(dice), random_time(dice)), follow_symlinks=False)


def build(dice, root, sparse=False):
    """a tree of 5 to 40 entries beside the one that is kept"""
    os.mkdir(root)
    made, directories, files = [os.path.join(root, KEPT)], [(root, 0)], []
    make_one(dice, made[0], "file")
    for _ in range(dice.randint(5, 40)):
        parent, depth = dice.choice(directories)
        path = free_name(dice, parent)
        kind = dice.choices(["file", "dir", "link", "fifo", "socket", "hard", "char", "block"],
                            [36, 24, 14, 5, 4, 9, 4, 4])[0]
        if kind == "hard":
            if files:
                os.link(dice.choice(files), path, follow_symlinks=False)
                made.append(path)
            continue
        if not make_one(dice, path, kind, sparse):
            continue
        made.append(path)
        if kind == "dir" and depth + 1 < DEEPEST:
            directories.append((path, depth + 1))
        elif kind != "dir":
            files.append(path)
    for path in reversed(made):  # children first: they move the times of their directory
        dress(dice, path)


@dataclasses.dataclass
class Seen:
    stat: os.stat_result
    identity: object  # equal for the same object only: its file handle
    digest: int       # of a regular file's first bytes


def identity_of(path):
    """raises OSError where the file system has no handles: inode numbers are used again"""
    handle = file_handle.file_handle(path)
    return handle["type"], handle["data"]


def look(root):
    """-> {path below root: Seen}, the root itself as b"" """
    seen, waiting = {}, [b""]
    while waiting:
        path = waiting.pop()
        full = os.path.join(root, path) if path else root
        facts, digest = os.lstat(full), 0
        if stat.S_ISREG(facts.st_mode):
            with open(full, "rb") as f:
                digest = zlib.crc32(f.read(1 << 20))
        seen[path] = Seen(facts, identity_of(full), digest)
        if stat.S_ISDIR(facts.st_mode):
            waiting += [os.path.join(path, name) for name in os.listdir(full)]
    return seen


def is_utf8(name):
    try:
        name.decode()
        return True
    except UnicodeDecodeError:
        return False


def state_of(paths):
    """a state that names each of these as far as it can, with nothing open; as state_codec takes it"""
    inodes, ids = [{"id": 1, "rc": 2, "loc": "root"}], {b"": 1}
    for path in sorted(paths, key=lambda p: (p.count(b"/"), p)):
        parent, name = os.path.split(path)
        if not path or parent not in ids or not is_utf8(name):
            continue
        ids[path] = len(inodes) + 1
        inodes.append({"id": ids[path], "rc": 1, "loc": "path", "parent": ids[parent], "name": {"hex": name.hex()}})
        inodes[ids[parent] - 1]["rc"] += 1
    return {"inodes": inodes, "next_inode": len(inodes) + 1, "handles": [], "next_handle": 0, "options": [0] * 4}, set(ids)
