# SPDX-License-Identifier: Apache-2.0
"""mtree(8) of NetBSD, asked and understood.

Names stand in its output as they are, newlines included, so a line is not a thing to go by. What names
there can be is known, though: wherever a line may begin the longest of them that fits is meant.

  output = (gone | extra | differs)*
  gone   = "missing: ./" path "\\n"          extra = "extra: " path "\\n"
           (as the specification has it: a name that looks like a pattern is one that matches just itself)
  differs = path ": " blanks-or-newline detail*     detail = blanks word " (" .. ", " .. ")\\n"
"""
import re
import subprocess

import random_tree

DETAIL = re.compile(rb"[ \t]*(user|gid|permissions|link count|size|modification time|type|link ref|device) \(")


class NotUnderstood(Exception):
    pass


def ask(spec, root):
    """-> (exit status, output)"""
    done = subprocess.run([b"mtree", b"-f", spec, b"-p", root], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def as_specified(path):
    """a path of the specification, decoded"""
    return b"/".join(random_tree.as_pattern(name) for name in path.split(b"/"))


class Names:
    """finds the longest known name at a place"""

    def __init__(self, paths, spell=lambda path: path):
        self.names = {spell(path) or b".": path for path in paths}
        self.lengths = sorted({len(name) for name in self.names}, reverse=True)

    def at(self, text, begin, end):
        """-> (path, place behind it and `end`), or None"""
        for length in self.lengths:
            stop = begin + length
            if text.startswith(end, stop) and text[begin:stop] in self.names:
                return self.names[text[begin:stop]], stop + len(end)
        return None


def after_detail(text, at, word):
    """the place behind its line; a link's targets may hold newlines, but never one behind a bracket"""
    end = text.index(b")\n" if word == b"link ref" else b"\n", at)
    return end + (2 if word == b"link ref" else 1)


def verdicts(text, paths):
    """-> {path: set of words}, of the names that are not as specified; "missing" and "extra" are words"""
    names, specified, out, at, path = Names(paths), Names(paths, as_specified), {}, 0, None
    while at < len(text):
        found = None
        for front, known in ((b"missing: ./", specified), (b"missing: ", specified), (b"extra: ", names)):
            if not found and text.startswith(front, at):
                found = known.at(text, at + len(front), b"\n")
        if found:
            word = text[at:text.index(b":", at)].decode()
            path, at = found
            out.setdefault(path, set()).add(word)
            continue
        found = names.at(text, at, b": ")
        if found:
            path, at = found
            while text[at:at + 1] == b" ":
                at += 1
            if text[at:at + 1] == b"\n":  # a long name: what differs begins in the next line
                at += 1
                continue
        detail = DETAIL.match(text, at)
        if path is None or not detail:
            raise NotUnderstood(f"at byte {at}: {text[max(0, at - 80):at + 120]!r}")
        out.setdefault(path, set()).add(detail[1].decode())
        at = after_detail(text, detail.end(), detail[1])
    return out
