#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long a capture of a whole tree takes beside what others record of it, and a walk beside find and
bfs: the same tree, one after the other, and the median of the pairs' ratios. Above 1 we are faster.

  bench/against_tools.py --build BUILD capture [--tree DIR] [--rounds R] [--without-aide]
  bench/against_tools.py --build BUILD contents [--tree DIR] [--rounds R]
  bench/against_tools.py --build BUILD walk [--files N] [--rounds R]
  bench/against_tools.py --build BUILD small [--rounds R]

capture: mtree -c, metastore -s, aide --check, which has to have a database (it is made first, of the same
metadata and without contents). contents: a capture with all hashes, and xxhsum -c of the same files. --cold:
each of them finds nothing of the tree in memory (root; it drops the caches of the machine). small: what a check and a capture of 300 inodes cost in a share of a
million files, against the same in one of a thousand. Debian: mtree-netbsd metastore aide bfs xxhash."""
import argparse, os, shutil, statistics, subprocess, sys, tempfile, time
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures"))
import state_codec

AIDE = """database_in=file:{0}/aide.db
database_out=file:{0}/aide.db.new
gzip_dbout=no
report_url=file:{0}/aide.report
{1} p+i+n+u+g+s+m+c+acl+xattrs
"""


cold = False  # whether nothing of the tree is in memory


def seconds(command, ok=(0,)):
    os.sync()  # what the one before has left unwritten is not to be waited for by this one
    if cold:
        with open("/proc/sys/vm/drop_caches", "w") as f:
            f.write("3")
    begin = time.perf_counter()
    status = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    took = time.perf_counter() - begin
    if status not in ok:
        raise RuntimeError(f"{command}: exit {status}")
    return took


def compare(name, ours, theirs, rounds, ok=(0,)):
    """prints the medians, and of the pairs' ratios"""
    pairs = [(seconds(ours), seconds(theirs, ok)) for _ in range(rounds)]
    mine, other = (statistics.median(p[i] for p in pairs) for i in (0, 1))
    ratio = statistics.median(p[1] / p[0] for p in pairs)
    print(f"{name}: {other * 1e3:.1f} ms, ours {mine * 1e3:.1f} ms, ratio {ratio:.2f} ({rounds} pairs)")
    return ratio


def capture(a, base):
    tool = os.path.join(a.build, "tools", "vfsmend", "vfsmend")
    ours = [tool, "capture", "--dir", a.tree, "--hash", "none", "--deadline", "0", "-o", os.path.join(base, "m")]
    seconds(ours)
    print(f"{a.tree}: manifest {os.path.getsize(os.path.join(base, 'm'))} bytes")
    compare("mtree -c", ours, ["mtree", "-c", "-p", a.tree], a.rounds)
    compare("metastore", ours, ["metastore", "-s", "-q", "-f", os.path.join(base, "meta"), a.tree], a.rounds)
    if a.without_aide:
        return
    config = os.path.join(base, "aide.conf")
    with open(config, "w") as f:
        f.write(AIDE.format(base, a.tree))
    seconds(["aide", "--init", "-c", config])
    os.rename(os.path.join(base, "aide.db.new"), os.path.join(base, "aide.db"))
    compare("aide --check", ours, ["aide", "--check", "-c", config], max(3, a.rounds // 3), ok=range(8))


def contents(a, base):
    tool = os.path.join(a.build, "tools", "vfsmend", "vfsmend")
    sums = os.path.join(base, "sums")
    with open(sums, "w") as f:
        files = subprocess.Popen(["find", a.tree, "-xdev", "-type", "f", "-print0"], stdout=subprocess.PIPE)
        subprocess.check_call(["xargs", "-0", "xxhsum", "-H2"], stdin=files.stdout, stdout=f,
                              stderr=subprocess.DEVNULL)
    ours = [tool, "capture", "--dir", a.tree, "--hash", "all", "--hash-budget", str(1 << 40), "--deadline", "0",
            "-o", os.path.join(base, "m")]
    compare("xxhsum -c", ours, ["xxhsum", "-q", "-c", sums], a.rounds)


def fill(root, files, each=10):
    """`files` files below root, `each` a directory, and three directories in each as long as there are files"""
    made, waiting = 0, [root]
    while made < files:
        directory = waiting.pop(0)
        os.makedirs(directory, exist_ok=True)
        for i in range(min(each, files - made)):
            os.close(os.open(os.path.join(directory, f"file_{i:02d}.txt"), os.O_CREAT | os.O_WRONLY, 0o644))
            made += 1
        waiting += [os.path.join(directory, f"directory_{i}") for i in range(3)]


def walk(a, base):
    fill(base, a.files)
    ours = [os.path.join(a.build, "bench", "walk_names"), base]
    count = int(subprocess.check_output(ours))
    print(f"{count} entries")
    for name in ("find", "bfs"):
        compare(name, ours, [name, base], a.rounds)


def known(share, inodes):
    """a state of the first `inodes` - 1 files of a share, and of their directories"""
    out, parents, next_id = [{"id": 1, "rc": 2, "loc": "root"}], {share: 1}, 2
    for directory, names, files in os.walk(share):
        names.sort()
        for name in sorted(files) + names:
            if next_id > inodes:
                return out
            out.append({"id": next_id, "rc": 1, "loc": "path", "parent": parents[directory], "name": name})
            out[parents[directory] - 1]["rc"] += 1
            if name in names:
                parents[os.path.join(directory, name)] = next_id
            next_id += 1
    return out


def small(a, base):
    tool = os.path.join(a.build, "tools", "vfsmend", "vfsmend")
    shares = {}
    for files in (1000, a.files):
        share = os.path.join(base, str(files))
        os.mkdir(share)
        fill(share, files)
        state = os.path.join(base, f"state{files}")
        inodes = known(share, 300)
        with open(state, "wb") as f:
            f.write(state_codec.encode({"inodes": inodes, "next_inode": 301, "handles": [], "next_handle": 0,
                                        "options": [0, 0, 0, 0]}))
        shares[files] = ["--profile", "virtiofsd", "--shared-dir", share, state]
    for command in ("capture", "check"):
        commands = [[tool, command, *shares[files]] for files in (a.files, 1000)]
        compare(f"{command} of 300 inodes, {a.files} files against 1,000", *commands, a.rounds)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--build", required=True)
    ap.add_argument("what", choices=("capture", "contents", "walk", "small"))
    ap.add_argument("--tree", default="/usr")
    ap.add_argument("--files", type=int, default=1000000)
    ap.add_argument("--without-aide", action="store_true", help="it takes a minute a round on /usr")
    ap.add_argument("--rounds", type=int, default=11)
    ap.add_argument("--cold", action="store_true")
    a = ap.parse_args()
    global cold
    cold = a.cold
    base = tempfile.mkdtemp(prefix="vfsmend-bench-", dir=os.environ.get("VFSMEND_BENCH_DIR"))
    try:
        {"capture": capture, "contents": contents, "walk": walk, "small": small}[a.what](a, base)
    finally:
        shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
