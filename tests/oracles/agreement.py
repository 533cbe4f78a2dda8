# SPDX-License-Identifier: Apache-2.0
"""Where mtree and `vfsmend check` may differ about a path, and why. Everything else must be equal, in both
directions: what mtree calls different is told by a code that means it, and no code is without a cause.

mtree compares names; vfsmend compares the objects that the guest holds by these names. What stands in a
Seen (random_tree.py) is Python's own look at the share, before and after; it decides which rule applies."""
import stat

# The codes that tell of what mtree says ("link count": see NAMES).
COVERS = {
    "missing": {"P001", "P002", "I004"},
    "type": {"P003"},
    "permissions": {"M001"},
    "user": {"M002"},
    "gid": {"M002"},
    "size": {"C001"},
    "modification time": {"C001", "M005"},
    "link ref": set(),  # a target cannot change but with the link: another object
    "device": set(),    # neither can the number of a device
}
ANOTHER_OBJECT = {"I001", "I002", "I004", "P002"}
CODES = {"M001", "M002", "M005", "C001", "P001", "P003"} | ANOTHER_OBJECT

RULES = {
    "DIRECTORY_TIMES": "a directory's mtime moves when any name in it comes or goes; check looks at the names "
                       "that the guest holds, and no guest trusts that time without asking for it",
    "TIMES_BESIDE_FILES": "the mtime of a link, FIFO, socket or device says nothing of a content",
    "NAMES": "a link count alone is not reported: the object, its bytes and the guest's name of it are as before",
    "REPLACED": "check tells that it is another object, and does not go on to compare what cannot be the same",
    "EQUAL_TWIN": "another object with equal metadata: mtree has no word for identity",
    "CARRIED_OVER": "a state names a child by its directory's node. Where that was moved, and the child was put "
                    "into the directory that replaced it, its node needs a new parent (P002) at the same path",
    "MOVED_WITH_DIRECTORY": "what lies in a moved directory as before is mended with it: told once, there",
    "BELOW_ANOTHER_TYPE": "what was below a directory that is none any more cannot be reached: P003 there, and "
                          "for its children, not P001; what is deeper is told at these",
    "FINER_TIME": "mtree compares microseconds, check nanoseconds",
    "NOT_SEARCHED": "a handle leads to one name of a file. Where that one lies outside the share, another name "
                    "inside is looked for in the captured directory and beside it, everywhere with --search only",
    "SECRET_WRITE": "same size, same mtime, other bytes: the hash tells, and mtree's specification has none",
}


class Case:
    """What everybody said of one share. `hashed`: the capture took hashes of all contents; `searched`: check was
    to look for moved files everywhere."""

    def __init__(self, was, now, words, codes, hashed, searched):
        self.was, self.now, self.words, self.codes = was, now, words, codes
        self.hashed, self.searched = hashed, searched
        self.used = dict.fromkeys(RULES, 0)
        self.places = {}
        for path, seen in now.items():
            self.places.setdefault(seen.identity, set()).add(path)

    def replaced(self, path):
        return path in self.now and self.now[path].identity != self.was[path].identity

    def mtime_moved(self, path):
        return self.now[path].stat.st_mtime_ns != self.was[path].stat.st_mtime_ns


def parents(path):
    """the nearest first, the root not"""
    while b"/" in path:
        path = path.rpartition(b"/")[0]
        yield path


def is_dir(seen):
    return seen is not None and stat.S_ISDIR(seen.stat.st_mode)


def is_file(seen):
    return seen is not None and stat.S_ISREG(seen.stat.st_mode)


def moved_with_directory(case, path):
    """a directory above is told to be elsewhere, and `path` lies in it as it did"""
    for above in parents(path):
        if "P002" in case.codes.get(above, ()):
            return any(new + path[len(above):] in case.places.get(case.was[path].identity, ())
                       for new in case.places.get(case.was[above].identity, ()))
    return False


def codes_below_another_type(case, path):
    """what check says of a path that cannot be reached for a thing above that is no directory; or None"""
    changed = [above for above in parents(path) if not is_dir(case.now.get(above))]
    if not changed or changed[-1] not in case.now:
        return None
    return {"P003"} if len(changed) == 1 else set()


def excuse_for_silence(case, path, word):
    """the rule by which check need not have a code of its own for mtree's `word`, or None"""
    codes, was, now = case.codes.get(path, set()), case.was[path], case.now.get(path)
    if word == "link count":
        return "NAMES"
    if now is not None and codes & ANOTHER_OBJECT and word not in ("type", "missing"):
        return "REPLACED"
    if not codes and moved_with_directory(case, path):
        return "MOVED_WITH_DIRECTORY"
    if word == "missing" and codes == codes_below_another_type(case, path):
        return "BELOW_ANOTHER_TYPE"
    if word == "modification time" and is_dir(was):
        return "DIRECTORY_TIMES"
    if word == "modification time" and not is_file(was):
        return "TIMES_BESIDE_FILES"
    return None


def excuse_for_code(case, path, code):
    """the rule by which check may have `code` where mtree has no word for it, or None"""
    if code in ANOTHER_OBJECT and case.replaced(path):
        return "REPLACED" if case.words.get(path) else "EQUAL_TWIN"
    if path not in case.now:
        return "BELOW_ANOTHER_TYPE" if {code} == codes_below_another_type(case, path) else None
    above = next(parents(path), None)
    if code == "P002" and above is not None and case.replaced(above) and case.places.get(case.was[above].identity):
        return "CARRIED_OVER"
    if not is_file(case.was[path]) or case.replaced(path):
        return None
    if code in ("C001", "M005") and case.mtime_moved(path):
        return "FINER_TIME"
    if code == "C001" and case.hashed and case.now[path].digest != case.was[path].digest:
        return "SECRET_WRITE"
    return None


def judge_path(case, path):
    """-> what is wrong, as texts"""
    words, codes, wrong = case.words.get(path, set()), case.codes.get(path, set()), []
    for word in sorted(words):
        if codes & COVERS.get(word, set()):
            continue
        rule = excuse_for_silence(case, path, word)
        if rule is None:
            wrong.append(f"mtree says {word!r}, check says {sorted(codes) or 'nothing'}")
        else:
            case.used[rule] += 1
    for code in sorted(codes):
        if code not in CODES:
            wrong.append(f"check says {code}, which nothing here can cause")
        if any(code in COVERS.get(word, ()) for word in words):
            continue
        rule = excuse_for_code(case, path, code)
        if rule is None:
            wrong.append(f"check says {code}, mtree says {sorted(words) or 'nothing'}")
        else:
            case.used[rule] += 1
    return wrong + judge_identity(case, path, codes)


def judge_place(case, path, codes):
    """P002 and I004 are of what is elsewhere in the share, all other codes of what is not there any more"""
    inside = case.places.get(case.was[path].identity, set())
    if bool(inside) == bool(codes & {"P002", "I004"}):
        return []
    link_outside = inside and case.now[min(inside)].stat.st_nlink > len(inside)
    if link_outside and not case.searched:
        case.used["NOT_SEARCHED"] += 1
        return []
    return [f"the object is {'at ' + repr(min(inside)) if inside else 'gone'}, and check says {sorted(codes)}"]


def judge_identity(case, path, codes):
    """what mtree cannot see, and Python does by the handles: which object it is, and where it went"""
    was, now = case.was[path], case.now.get(path)
    if moved_with_directory(case, path):
        return []
    if now is None:
        return judge_place(case, path, codes) if codes & COVERS["missing"] else []
    if now.identity == was.identity:
        return []
    if codes & {"M001", "M002", "M005", "C001"}:
        return ["check compares the metadata of two different objects"]
    if stat.S_IFMT(now.stat.st_mode) != stat.S_IFMT(was.stat.st_mode):
        return []
    if not codes & ANOTHER_OBJECT:
        return ["it is another object, and check does not say so"]
    return judge_place(case, path, codes)


def judge(case, paths):
    """-> [(path, what is wrong)] of the paths that the state names"""
    return [(path, text) for path in sorted(paths) for text in judge_path(case, path)]
