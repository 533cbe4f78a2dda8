# SPDX-License-Identifier: Apache-2.0
"""Debian packages without touching the machine: an apt root of its own (lists, status, cache) below
a directory that goes away afterwards. Where the mirror is, and how it is reached (proxies), is taken
from the machine's own configuration; nothing is installed."""
import collections
import os
import re
import subprocess

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
MOST_SECONDS = 300
OFFLINE = re.compile(r"Temporary failure resolving|Could not resolve|Could not connect|Unable to connect|"
                     r"Cannot initiate the connection|Network is unreachable|[Cc]onnection timed out|Connection refused|"
                     r"No route to host")
# Of the machine's settings: what says how a mirror is reached, not what is fetched from it.
REACHING = re.compile(r"^Acquire::(?:https?|ftp|tor|Retries|ForceIPv|Check-|Max-ValidTime|Queue-Mode|Send-URI)")
Source = collections.namedtuple("Source", "uri suite")


class CannotHave(Exception):
    """why something could not be fetched, in one line"""


def run(words, **options):
    """-> standard output"""
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=MOST_SECONDS,
                              stdin=subprocess.DEVNULL, **options)
    except FileNotFoundError:
        raise CannotHave(f"there is no {words[0]} here: this is not a Debian system") from None
    except subprocess.TimeoutExpired:
        raise CannotHave(f"{words[0]} took more than {MOST_SECONDS} s") from None
    if done.returncode:
        raise CannotHave(reason(words, done))
    return done.stdout


def reason(words, done):
    lines = (done.stderr + done.stdout).splitlines()
    for line in lines:
        if match := OFFLINE.search(line):
            return "offline, the mirror cannot be reached: " + line[match.start():].strip()
    told = [line for line in lines if line.startswith("E:")] or lines or [f"exit {done.returncode}"]
    return f"{os.path.basename(words[0])}: {told[0].strip()}"


def machine_sources():
    """the Debian archives that the machine itself uses; apt reads its own files, of either form"""
    form = "$(REPO_URI)|$(RELEASE)|$(COMPONENT)"
    text = run(["apt-get", "indextargets", "--no-release-info", "--format", form, "Created-By: Packages"])
    rows = [line.split("|") for line in text.splitlines()]
    found = [Source(uri, suite) for uri, suite, component in rows if component == "main"]
    return list(dict.fromkeys(found))


def codename():
    """of the machine's Debian"""
    with open("/etc/os-release") as f:
        match = re.search(r'^VERSION_CODENAME="?(\w+)', f.read(), re.M)
    if not match:
        raise CannotHave("/etc/os-release names no Debian release")
    return match[1]


def mirror():
    """the archive in which the machine finds its own release"""
    release = codename()
    sources = machine_sources()
    for wanted in (release, release + "-updates", "stable", "testing"):
        for source in sources:
            if source.suite == wanted:
                return source.uri
    raise CannotHave(f"the machine's sources name no Debian mirror of {release}")


class PrivateApt:
    def __init__(self, directory, sources, status=None):
        """status: of the packages that are taken as installed; none by default"""
        if not os.path.exists(KEYRING):
            raise CannotHave(f"there is no {KEYRING} (package debian-archive-keyring)")
        self.directory = directory
        for name in ("lists/partial", "cache/archives/partial", "debs"):
            os.makedirs(os.path.join(directory, name))
        self.write("sources.list", "".join(f"deb [arch=amd64 signed-by={KEYRING}] {s.uri} {s.suite} main\n" for s in sources))
        self.write("status", status or "")
        self.write("apt.conf", self.settings())
        self.environment = dict(os.environ, APT_CONFIG=os.path.join(directory, "apt.conf"), LC_ALL="C")

    def settings(self):
        place = {"Dir::Etc::main": "/dev/null", "Dir::Etc::parts": "/dev/null", "Dir::Etc::preferences": "/dev/null",
                 "Dir::Etc::preferencesparts": "/dev/null", "Dir::Etc::sourceparts": "/dev/null",
                 "Dir::Etc::sourcelist": self.path("sources.list"), "Dir::State": self.directory,
                 "Dir::State::lists": self.path("lists"), "Dir::State::status": self.path("status"),
                 "Dir::Cache": self.path("cache"), "Dir::Cache::archives": self.path("cache/archives"),
                 "Acquire::Languages": "none", "Acquire::PDiffs": "false", "Acquire::Retries": "1",
                 "Acquire::http::Timeout": "20", "Acquire::https::Timeout": "20", "APT::Update::Error-Mode": "any",
                 "APT::Sandbox::User": "root", "APT::Architecture": "amd64", "APT::Architectures": "amd64"}
        reaching = [line for line in run(["apt-config", "dump", "Acquire"]).splitlines() if REACHING.match(line)]
        return "\n".join([f'{key} "{value}";' for key, value in place.items()] + reaching) + "\n"

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)

    def apt(self, *words):
        return run(list(words), env=self.environment, cwd=self.path("debs"))

    def update(self):
        self.apt("apt-get", "-q", "update")

    def download(self, packages):
        """-> their files"""
        before = set(os.listdir(self.path("debs")))
        self.apt("apt-get", "-q", "download", *packages)
        return [self.path("debs/" + name) for name in os.listdir(self.path("debs")) if name not in before]

    def needed(self, packages, release):
        """the packages of that release, installed or not, and what they depend on and is not installed"""
        text = self.apt("apt-get", "-q", "-s", "--no-install-recommends", "-t", release, "--reinstall", "install", *packages)
        return [f"{name}={version}" for name, version in re.findall(r"^Inst (\S+) (?:\[\S+\] )?\((\S+) ", text, re.M)]

    def depends(self, package):
        """the names in its Depends field"""
        match = re.search(r"^Depends: (.*)$", self.apt("apt-cache", "show", package), re.M)
        return [word.split()[0] for word in match[1].split(",")] if match else []


def unpack(debs, directory):
    os.makedirs(directory, exist_ok=True)
    for deb in debs:
        run(["dpkg-deb", "-x", deb, directory])
