# SPDX-License-Identifier: Apache-2.0
"""Extended attributes and ACLs on random trees: what `vfsmend capture` keeps against what getfattr(1) and
getfacl(1) print, and all that stat(2) says against Python's own look."""
import json
import os
import re
import stat
import struct
import subprocess

import random_tree

ACL_KINDS = {1: "user:", 2: "user:", 4: "group:", 8: "group:", 16: "mask:", 32: "other:"}
USER_OBJ, USER, GROUP_OBJ, GROUP, MASK, OTHER = ACL_KINDS
NO_ID = 0xFFFFFFFF
ACL_NAMES = {b"system.posix_acl_access": "", b"system.posix_acl_default": "default:"}
NAMES = [b"user.a", b"user.empty", b"user.\xc3\xa9", b"user.a=b", b"user.line\nbreak", b"user.back\\slash", b"user." + b"l" * 250,
         b"user.\xff\xfe", b"user.#", b"trusted.x", b"trusted.overlay.opaque", b"trusted. ", b"security.test", b"security.capability"]


def random_capability(dice):
    """as the kernel accepts it: revision 2, or 3 with the root of a user namespace"""
    sets = [dice.randrange(1 << 32), 0, dice.randrange(1 << 8), 0]
    effective = dice.randint(0, 1)
    if dice.random() < 0.5:
        return struct.pack("<5I", 0x02000000 | effective, *sets)
    return struct.pack("<6I", 0x03000000 | effective, *sets, dice.choice([0, 1000, 100000]))


def random_acl(dice):
    """-> [(kind, rights, id)] in the order that the kernel wants"""
    ids = lambda: sorted(dice.sample(random_tree.OWNERS[:-1], dice.randint(0, 3)))
    rights = lambda: dice.randint(0, 7)
    users, groups = ids(), ids()
    entries = [(USER_OBJ, rights(), NO_ID), *((USER, rights(), i) for i in users), (GROUP_OBJ, rights(), NO_ID),
               *((GROUP, rights(), i) for i in groups)]
    if users or groups or dice.random() < 0.3:
        entries.append((MASK, rights(), NO_ID))
    return entries + [(OTHER, rights(), NO_ID)]


def packed(acl):
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in acl)


def unpacked(value):
    version, = struct.unpack_from("<I", value)
    if version != 2 or len(value) % 8 != 4:
        raise ValueError(f"an ACL of version {version}, {len(value)} bytes")
    return list(struct.iter_unpack("<HHI", value[4:]))


def text_of(acl, front=""):
    """the lines that getfacl has for it"""
    letters = lambda r: "".join(c if r & bit else "-" for c, bit in zip("rwx", (4, 2, 1)))
    return [f"{front}{ACL_KINDS[kind]}{'' if number == NO_ID else number}:{letters(rights)}"
            for kind, rights, number in acl]


def put(path, name, value):
    try:
        os.setxattr(path, name, value, follow_symlinks=False)
    except OSError:  # no user.* on a link, no room, or nothing that this file system has
        pass


def decorate(dice, root):
    for path in sorted(os.path.join(root, p) if p else root for p in random_tree.look(root)):
        for name in dice.sample(NAMES, dice.choice([0, 0, 1, 2, 5])):
            put(path, name, random_capability(dice) if name == b"security.capability"
                else random_tree.random_bytes(dice, 300))
        for name in ACL_NAMES:
            if dice.random() < 0.3:
                put(path, name, packed(random_acl(dice)))


def unquoted(text):
    return re.sub(rb"\\(\\|[0-7]{3})", lambda m: b"\\" if m[1] == b"\\" else bytes([int(m[1], 8)]), text)


def output_of(words):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode or done.stderr:
        raise RuntimeError(f"{words[0]}: exit {done.returncode}: {done.stderr.decode(errors='replace')}")
    return done.stdout


def blocks(text, root):
    """-> (path below the root, its lines), of the form that both programs print"""
    for block in filter(None, text.split(b"\n\n")):
        first, *lines = block.strip(b"\n").split(b"\n")
        path = unquoted(first.removeprefix(b"# file: "))
        yield os.path.relpath(path, root).removeprefix(b"."[path != root:]), lines


def said_by_getfattr(root):
    """-> {path: {name: value}}"""
    text = output_of([b"getfattr", b"-R", b"-P", b"-h", b"-d", b"-m", b"-", b"-e", b"hex", b"--absolute-names", b"--", root])
    pairs = lambda lines: (line.rsplit(b"=", 1) for line in lines)
    return {path: {unquoted(name): bytes.fromhex(value.decode()[2:]) for name, value in pairs(lines)}
            for path, lines in blocks(text, root)}


def said_by_getfacl(root):
    """-> {path: lines}, links left out; what begins with # is owner, group and flags"""
    text = output_of([b"getfacl", b"-R", b"-P", b"-n", b"-p", b"-E", b"--", root])
    return {path: [line.decode() for line in lines] for path, lines in blocks(text, root)}


def acl_lines(entry):
    """what getfacl should print of an entry of a manifest"""
    lines = [f"# owner: {entry['uid']}", f"# group: {entry['gid']}"]
    special = entry["mode"] >> 9 & 7
    if special:
        lines.append("# flags: " + "".join(c if special & bit else "-" for c, bit in zip("sst", (4, 2, 1))))
    mode = entry["mode"]
    plain = [(USER_OBJ, mode >> 6 & 7, NO_ID), (GROUP_OBJ, mode >> 3 & 7, NO_ID), (OTHER, mode & 7, NO_ID)]
    access = entry["xattrs"].get(b"system.posix_acl_access")
    lines += text_of(unpacked(access) if access else plain)
    default = entry["xattrs"].get(b"system.posix_acl_default")
    return lines + (text_of(unpacked(default), "default:") if default else [])


def manifest(dump, path):
    """-> {path: entry}, bytes as bytes"""
    out = {}
    for line in output_of([dump, path]).splitlines():
        entry = json.loads(line)
        for key in ("path", "handle", "target"):
            entry[key] = bytes.fromhex(entry[key])
        entry["xattrs"] = {bytes.fromhex(n): bytes.fromhex(v) for n, v in entry["xattrs"].items()}
        out[entry["path"]] = entry
    return out


def stat_differences(entry, seen, full):
    s = seen.stat
    mine = {"mode": s.st_mode, "uid": s.st_uid, "gid": s.st_gid, "nlink": s.st_nlink, "size": s.st_size, "dev": s.st_dev,
            "ino": s.st_ino, "rdev": s.st_rdev, "mtime": s.st_mtime_ns, "ctime": s.st_ctime_ns, "notes": 0,
            "target": os.readlink(full) if stat.S_ISLNK(s.st_mode) else b""}
    if entry["handle"]:
        mine["handle_type"], mine["handle"] = seen.identity[0], bytes.fromhex(seen.identity[1])
    return [f"{key} {entry[key]!r} in the manifest, {value!r} by Python" for key, value in mine.items() if entry[key] != value]


def judge(root, entries):
    """-> [(path, what is wrong)]"""
    seen, attributes, acls, wrong = random_tree.look(root), said_by_getfattr(root), said_by_getfacl(root), []
    if seen.keys() != entries.keys():
        wrong.append((b"", f"names that only one has: {sorted(seen.keys() ^ entries.keys())}"))
    for path in sorted(seen.keys() & entries.keys()):
        entry = entries[path]
        found = stat_differences(entry, seen[path], os.path.join(root, path) if path else root)
        if entry["xattrs"] != attributes.get(path, {}):
            found.append(f"attributes {entry['xattrs']} in the manifest, {attributes.get(path)} by getfattr")
        link = stat.S_ISLNK(entry["mode"])
        if acls.get(path) != (None if link else acl_lines(entry)):
            found.append(f"ACL {acl_lines(entry)} in the manifest, {acls.get(path)} by getfacl")
        wrong += [(path, text) for text in found]
    return wrong
