# SPDX-License-Identifier: Apache-2.0
"""What happens to a share between a capture and a check: random changes, each of which says in a line
what it did."""
import dataclasses
import os
import shutil
import stat

import random_tree


@dataclasses.dataclass
class Place:
    root: bytes   # the share
    aside: bytes  # a directory beside it, on the same file system: where things come from and go to


def chmod(dice, _, path):
    if os.path.islink(path):
        return None
    os.chmod(path, dice.randrange(0o10000))
    return "chmod"


def chown(dice, _, path):
    os.chown(path, dice.choice(random_tree.OWNERS), dice.choice(random_tree.OWNERS), follow_symlinks=False)
    return "chown"


def touch(dice, _, path):
    os.utime(path, ns=(0, random_tree.random_time(dice)), follow_symlinks=False)
    return "touch"


def touch_finely(dice, _, path):
    """within the microsecond"""
    facts = os.lstat(path)
    microsecond, ns = divmod(facts.st_mtime_ns, 1000)
    os.utime(path, ns=(0, microsecond * 1000 + (ns + dice.randint(1, 999)) % 1000), follow_symlinks=False)
    return "touch by ns"


def is_file(path):
    return stat.S_ISREG(os.lstat(path).st_mode)


def write(dice, _, path):
    if not is_file(path):
        return None
    size = os.path.getsize(path)
    with open(path, "r+b") as f:
        way = dice.choice(["append", "cut", "overwrite"])
        if way == "cut":
            f.truncate(dice.randint(0, size))
        else:
            f.seek(size if way == "append" else dice.randint(0, size))
            f.write(dice.randbytes(dice.randint(1, 50)))
    return way


def write_secretly(dice, _, path):
    """same size, same time: only a hash tells"""
    if not is_file(path) or os.path.getsize(path) == 0:
        return None
    facts = os.lstat(path)
    with open(path, "r+b") as f:
        first = f.read(1)
        f.seek(0)
        f.write(bytes([first[0] ^ 1]))
    os.utime(path, ns=(0, facts.st_mtime_ns))
    return "write, same size and time"


def copy_facts(facts, path):
    os.chown(path, facts.st_uid, facts.st_gid, follow_symlinks=False)
    if not os.path.islink(path):
        os.chmod(path, stat.S_IMODE(facts.st_mode))
    os.utime(path, ns=(0, facts.st_mtime_ns), follow_symlinks=False)


def twin(path, to):
    """another object at `to` in which nothing but its identity differs"""
    facts = os.lstat(path)
    if stat.S_ISREG(facts.st_mode):
        with open(path, "rb") as source, open(to, "wb") as copy:
            copy.write(source.read(1 << 20))  # behind that there are holes, of a terabyte perhaps
            copy.truncate(facts.st_size)
    elif stat.S_ISLNK(facts.st_mode):
        os.symlink(os.readlink(path), to)
    else:
        os.mknod(to, facts.st_mode, facts.st_rdev)
    copy_facts(facts, to)


KINDS = {stat.S_IFREG: "file", stat.S_IFLNK: "link", stat.S_IFIFO: "fifo", stat.S_IFSOCK: "socket",
         stat.S_IFCHR: "char", stat.S_IFBLK: "block", stat.S_IFDIR: "dir"}


def kind_of(path):
    return KINDS[stat.S_IFMT(os.lstat(path).st_mode)]


def replace(dice, place, path):
    if kind_of(path) == "dir":
        return swap_directory(dice, place, path)
    fresh = random_tree.free_name(dice, place.aside)
    if dice.random() < 0.5:
        twin(path, fresh)
    elif random_tree.make_one(dice, fresh, kind_of(path)):
        random_tree.dress(dice, fresh)
    else:
        return None
    os.rename(fresh, path)
    return "rename over it"


def remake(dice, _, path):
    """the inode number is free by then, and is often taken again"""
    kind = kind_of(path)
    if kind == "dir" or os.lstat(path).st_nlink > 1:
        return None
    os.unlink(path)
    random_tree.make_one(dice, path, kind)
    return "unlink, make anew"


def swap_directory(dice, place, path):
    """another directory, with the old children, with twins of them, or without"""
    kept_in_share = dice.random() < 0.5
    old = random_tree.free_name(dice, os.path.dirname(path) if kept_in_share else place.aside)
    os.rename(path, old)
    os.mkdir(path)
    for name in sorted(os.listdir(old)):
        was, to = os.path.join(old, name), os.path.join(path, name)
        way = dice.choice(["carry", "carry", "twin", "leave"])
        if way == "carry":
            os.rename(was, to)
        elif way == "twin" and kind_of(was) != "dir":
            twin(was, to)
    if dice.random() < 0.5:
        copy_facts(os.lstat(old), path)
    return "another directory, the old one " + ("is beside it" if kept_in_share else "is away")


def remove(_dice, _, path):
    shutil.rmtree(path) if kind_of(path) == "dir" else os.unlink(path)
    return "remove"


def retype(dice, place, path):
    was = kind_of(path)
    remove(dice, place, path)
    kind = dice.choice([k for k in ("file", "dir", "link", "fifo", "socket") if k != was])
    random_tree.make_one(dice, path, kind)
    return f"{was} becomes {kind}"


def retarget(dice, _, path):
    if not os.path.islink(path):
        return None
    os.unlink(path)
    os.symlink(random_tree.random_target(dice), path)
    return "other target"


def add_link(dice, _, path):
    if kind_of(path) == "dir":
        return None
    os.link(path, random_tree.free_name(dice, os.path.dirname(path)), follow_symlinks=False)
    return "a name more"


def move(dice, place, path):
    to = dice.choice([os.path.dirname(path), place.root, place.aside])
    os.rename(path, random_tree.free_name(dice, to))
    return "move " + ("away" if to == place.aside else "within the share")


def add(dice, _, path):
    directory = path if kind_of(path) == "dir" else os.path.dirname(path)
    random_tree.make_one(dice, random_tree.free_name(dice, directory), dice.choice(["file", "dir"]))
    return "a new name beside or below it"


# (change, weight, may meet the root and what is kept)
CHANGES = [(chmod, 14, True), (chown, 14, True), (touch, 14, True), (touch_finely, 6, True), (write, 14, True),
           (write_secretly, 6, True), (replace, 14, False), (remake, 6, False), (remove, 7, False), (retype, 7, False),
           (retarget, 6, False), (add_link, 5, True), (move, 7, False), (add, 6, True)]


def paths_in(root):
    found = [root]
    for directory, directories, files in os.walk(root):
        found += [os.path.join(directory, name) for name in directories + files]
    return sorted(found)


def change(dice, place):
    """-> lines of what was changed; in one of ten trees nothing"""
    log = []
    if dice.random() < 0.1:
        return log
    fixed = (place.root, os.path.join(place.root, random_tree.KEPT))
    for _ in range(dice.randint(1, 8)):
        path = dice.choice(paths_in(place.root))
        act, _, for_all = dice.choices(CHANGES, [c[1] for c in CHANGES])[0]
        if path in fixed and not for_all or path == place.root and act is add_link:
            continue
        done = act(dice, place, path)
        if done:
            log.append(f"{os.path.relpath(path, place.root)!r}: {done}")
    return log
