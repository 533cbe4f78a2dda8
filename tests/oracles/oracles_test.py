#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Other people's programs on the same trees, seed by seed. With each seed:

  mtree       `vfsmend capture --dir --format mtree` is a specification that mtree(8) finds nothing against
  check       the share is changed at random; then mtree, which has that specification, and `vfsmend check`,
              which has a manifest, agree path by path on what is not as it was (agreement.py has the rules)
  attributes  with every fifth seed: attributes and ACLs in a manifest are those of getfattr(1) and getfacl(1)

  oracles_test.py --vfsmend PROGRAM --dump PROGRAM [--seed N | --first N --count N] [--keep]

A seed that fails prints the command that plays it again. Exit 77: cannot be played here.
"""
import argparse
import json
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(os.path.dirname(HERE)), "fixtures")]
import agreement  # noqa: E402
import attributes  # noqa: E402
import mtree_program  # noqa: E402
import mutations  # noqa: E402
import random_tree  # noqa: E402
import state_codec  # noqa: E402

ATTRIBUTES_EVERY = 5
JUDGED = (0, 2, 4, 5)    # exit statuses of a check that came to a verdict
MEMORY = "/dev/shm"      # for manifests: each is written through to its disk
ENOUGH_FOR_RULES = 500   # of so many seeds each rule has to be needed by one


class Wrong(Exception):
    pass


def vfsmend(program, words, statuses=(0,)):
    """-> standard output"""
    done = subprocess.run([program, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode not in statuses:
        raise Wrong(f"vfsmend {words[0]}: exit {done.returncode}: {(done.stderr or done.stdout)[-800:].decode(errors='replace')}")
    return done.stdout


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


def specify(program, place, base):
    """the specification, which mtree finds nothing against -> its path"""
    spec = os.path.join(base, b"spec")
    write(spec, vfsmend(program, ["capture", "--dir", place.root, "--format", "mtree"]))
    status, output = mtree_program.ask(spec, place.root)
    if status or output:
        raise Wrong(f"mtree does not accept the specification of an unchanged tree (exit {status}):\n"
                    + output.decode(errors="backslashreplace"))
    return spec


def capture(program, dice, place, files, state, hashed):
    """in one of the three ways in which a manifest comes about -> words for check"""
    write(os.path.join(files, b"state"), state)
    common = ["--hash", "all" if hashed else "none", "--format", "json"]
    way = dice.choice(["state", "tree", "dir"])
    file = os.path.join(files, b"state.vfsmend-manifest")
    if way == "dir":
        vfsmend(program, ["capture", *common, "--dir", place.root, "-o", file])
    else:
        tree = ["--tree"] if way == "tree" else []
        vfsmend(program, ["capture", *common, *tree, "--profile", "virtiofsd", "--shared-dir", place.root,
                          os.path.join(files, b"state")])
    return ["check", "--format", "json", "--profile", "virtiofsd", "--sandbox", "none", "--shared-dir", place.root,
            os.path.join(files, b"state")]


def codes_in(report):
    """-> {path: codes}, but for T001, a hint of one file that is younger than the clock, changed or not"""
    device = json.loads(report)["devices"][0]
    out = {}
    for finding in device["findings"]:
        if finding["code"] == "T001":
            continue
        path = (finding["path"] or "").encode()
        out.setdefault(b"" if path in (b".", b"/") else path.lstrip(b"/"), set()).add(finding["code"])
    return out


def play_check(a, seed, base):
    """-> (what is wrong as lines, uses of the rules)"""
    dice = random.Random(seed)
    place = mutations.Place(os.path.join(base, b"tree"), os.path.join(base, b"aside"))
    hashed = dice.random() < 0.5
    random_tree.build(dice, place.root, sparse=not hashed)
    os.mkdir(place.aside)
    spec = specify(a.vfsmend, place, base)
    was = random_tree.look(place.root)
    state, known = random_tree.state_of(was)
    check = capture(a.vfsmend, dice, place, base if a.keep else a.files, state_codec.encode(state), hashed)
    log = mutations.change(dice, place)
    now = random_tree.look(place.root)
    words = mtree_program.verdicts(mtree_program.ask(spec, place.root)[1], was.keys() | now.keys())
    extra = {path for path, found in words.items() if "extra" in found}
    new = now.keys() - was.keys()
    directories = {path for path, seen in was.items() if agreement.is_dir(seen)}
    new = {path for path in new if os.path.dirname(path) in directories}  # mtree does not look into a new one
    if extra != new:
        raise Wrong(f"mtree has other new names than Python: {extra ^ new}")
    search = dice.random() < 0.5
    codes = codes_in(vfsmend(a.vfsmend, [*check, "--search"] if search else check, JUDGED))
    case = agreement.Case(was, now, words, codes, hashed, search)
    wrong = [f"{path!r}: {text}" for path, text in agreement.judge(case, known)]
    wrong += [f"{path!r}: check says {sorted(found)} of a name that the state does not have"
              for path, found in codes.items() if path not in known]
    return wrong + ["what was changed: " + line for line in log if wrong], case.used


def play_attributes(a, seed, base):
    dice = random.Random(f"attributes {seed}")
    root, file = os.path.join(base, b"tree"), os.path.join(base if a.keep else a.files, b"manifest")
    random_tree.build(dice, root)
    attributes.decorate(dice, root)
    vfsmend(a.vfsmend, ["capture", "--format", "json", "--dir", root, "-o", file])
    return [f"{path!r}: {text}" for path, text in attributes.judge(root, attributes.manifest(a.dump, file))]


def play(a, seed, keep, used):
    """-> what is wrong, as lines"""
    wrong = []
    for part in ("check", "attributes") if a.seed is not None or seed % ATTRIBUTES_EVERY == 0 else ("check",):
        base = os.fsencode(os.path.realpath(tempfile.mkdtemp(prefix="vfsmend-oracles-")))
        try:
            if part == "attributes":
                found = play_attributes(a, seed, base)
            else:
                found, uses = play_check(a, seed, base)
                for rule, times in uses.items():
                    used[rule] += times
        except (Wrong, RuntimeError, ValueError, mtree_program.NotUnderstood) as e:
            found = [str(e)]
        wrong += [f"{part}: {line}" for line in found]
        if found and keep:
            wrong.append(f"{part}: left in {os.fsdecode(base)}")
        else:
            shutil.rmtree(base, ignore_errors=True)
    return wrong


def why_not():
    if os.geteuid() != 0:
        return "needs root"
    missing = [tool for tool in ("mtree", "getfattr", "getfacl") if not shutil.which(tool)]
    if missing:
        return f"no {', '.join(missing)}"
    return None if usable_directory() else "no file system with file handles and trusted attributes for the trees"


def usable_directory():
    """where trees can be made: overlayfs, which containers have at /tmp, often has no file handles"""
    for directory in (tempfile.gettempdir(), "/var/tmp", MEMORY):
        try:
            with tempfile.TemporaryDirectory(dir=directory) as tried:
                os.setxattr(tried, "trusted.oracles", b"")
                random_tree.identity_of(tried)
                return directory
        except OSError:
            continue
    return None


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--vfsmend", required=True)
    ap.add_argument("--dump", required=True, help="the program dump_manifest")
    ap.add_argument("--count", type=int, default=500)
    ap.add_argument("--first", type=int, default=1)
    ap.add_argument("--seed", type=int, help="this one alone, with all its parts")
    ap.add_argument("--keep", action="store_true", help="leave what failed where it is")
    a = ap.parse_args()
    problem = why_not()
    if problem:
        print("skipped:", problem)
        return 77
    tempfile.tempdir = usable_directory()
    with tempfile.TemporaryDirectory(prefix="vfsmend-oracles-", dir=MEMORY if os.path.isdir(MEMORY) else None) as files:
        a.files = os.fsencode(files)
        return play_all(a)


def play_all(a):
    """-> exit status"""
    seeds = [a.seed] if a.seed is not None else range(a.first, a.first + a.count)
    used, bad, begin = dict.fromkeys(agreement.RULES, 0), 0, time.monotonic()
    for seed in seeds:
        wrong = play(a, seed, a.keep, used)
        bad += bool(wrong)
        for line in wrong[:30]:
            print(f"seed {seed}: {line}")
        if wrong:
            again = [sys.executable, os.path.abspath(__file__), "--vfsmend", a.vfsmend, "--dump", a.dump, "--seed", str(seed)]
            print("again:", shlex.join(again), flush=True)
    print(f"seeds {seeds[0]} to {seeds[-1]}: {bad} failed, in {time.monotonic() - begin:.0f} s")
    print("rules:", ", ".join(f"{rule} {times}" for rule, times in used.items()))
    idle = [rule for rule, times in used.items() if times == 0] if len(seeds) >= ENOUGH_FOR_RULES else []
    if idle:
        print("nothing needed the rules", ", ".join(idle))
    return 1 if bad or idle else 0


if __name__ == "__main__":
    sys.exit(main())
