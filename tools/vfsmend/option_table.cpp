// SPDX-License-Identifier: Apache-2.0
// The words of the command line. Switches of the daemon bear virtiofsd's names, so that a command
// line can be carried over as it is.
#include <array>

#include "vfsmend/options.h"

namespace vfsmend {
namespace {

constexpr std::array kCommands = {
    CommandSpec{kCheckCommand, "check", "SNAPSHOT",
                "will this snapshot restore, to the same files?",
                "Predicts what the restoring side will do with the virtio-fs state in SNAPSHOT, "
                "without changing or opening anything in the share. SNAPSHOT is a snapshot "
                "directory (CubeSandbox, Cloud Hypervisor), a QEMU migration file, or a file "
                "that holds only the state; which one it is gets found out by its content.\n\n"
                "Exit status: 0 resume, 2 coldboot, 4 a repair exists, 5 rebuild, 8 "
                "indeterminate (nothing may be destroyed for it: mend the cause, try again), "
                "16 wrong usage, 32 cancelled."},
    CommandSpec{kRehearseCommand, "rehearse", "SNAPSHOT",
                "let the virtiofsd that will restore say it itself",
                "A check, and beside it the answer of a real virtiofsd, which loads the state: in a "
                "private mount namespace, over a bind of the share, without a VM. It opens the "
                "files that the guest has open, with the recorded flags; a state that would "
                "truncate, create or hang is refused. Where the daemon and the prediction differ, "
                "or the daemon does not confirm a good one, the verdict is indeterminate.\n\n"
                "Exit status: that of check."},
    CommandSpec{kCaptureCommand, "capture", "SNAPSHOT",
                "record what lies behind a snapshot, for later checks",
                "Writes a manifest: identity, type, mode, owner, size, times, attributes and (of open "
                "files) a hash of everything that the state in SNAPSHOT names, and the mounts of the "
                "share. To be run when the snapshot is taken, before anybody else touches the share; "
                "check then finds the manifest by itself. Opens no file but those that are hashed, "
                "and leaves no access time.\n\n"
                "Exit status: 0 captured (warnings are told), 8 nothing was captured, 16 wrong usage, "
                "32 cancelled."},
    CommandSpec{kInspectCommand, "inspect", "SNAPSHOT", "show the state in a snapshot",
                "Lists the virtio-fs devices of SNAPSHOT with their inodes and open handles as "
                "they were saved. Looks at no shared directory and writes nothing.\n\n"
                "Exit status: 0 all is shown, 8 something could not be read, 16 wrong usage, "
                "32 cancelled."},
    CommandSpec{kRepairCommand, "repair", "SNAPSHOT",
                "mend a snapshot and its share, so that it resumes",
                "Makes a check, and of its findings a plan: steps that change the state in SNAPSHOT, and "
                "steps that put modes, owners, attributes and times of the share's files back to what a "
                "capture recorded. -n shows the plan, -p applies the steps that lose nothing the guest "
                "holds, -y applies all; on a terminal, without any of these, it asks. The original "
                "stays beside the new file, a journal says how to take it back (vfsmend undo), and a "
                "check afterwards decides.\n\n"
                "Exit status: 0 nothing had to be done, 1 repaired and resumes now, 4 a repair was not "
                "applied, else that of check; 8 also where another repair is at work or the snapshot is "
                "open elsewhere."},
    CommandSpec{kUndoCommand, "undo", "JOURNAL", "take a repair back",
                "Puts the original back that the repair kept, byte for byte, with its mode, owner, "
                "attributes and times, and gives the share's files what they had before. Refused where "
                "something is not as the repair left it.\n\n"
                "Exit status: 0 done, 8 not done, 16 wrong usage, 32 cancelled."},
    CommandSpec{kNodemapCommand, "nodemap", "MOUNT",
                "in a guest: which file each node id of a mount stands for",
                "Run inside a guest, as root: writes down what the processes hold of the virtio-fs (or "
                "other FUSE) mount at MOUNT: open files, working directories, roots, mapped and executed "
                "files, with their node ids, paths and inode numbers. The server of the mount is asked "
                "nothing. A snapshot whose locations were lost is mended by it: vfsmend repair --nodemap.\n\n"
                "Exit status: 0 written (what is missing in it is told), 8 nothing was written, 16 wrong "
                "usage or no FUSE mount, 32 cancelled."},
    CommandSpec{kExplainCommand, "explain", "[CODE..]", "what a code of a report means",
                "Prints what happened, what the guest sees and what to do, for each CODE. "
                "Without one: a list of all codes."},
};

constexpr unsigned kMending = kCheckCommand | kRepairCommand;
constexpr unsigned kLooking = kMending | kInspectCommand | kRehearseCommand;
constexpr unsigned kReading = kLooking | kCaptureCommand;
constexpr unsigned kBounded = kReading | kUndoCommand | kNodemapCommand;
constexpr unsigned kJudging = kMending | kRehearseCommand;
constexpr unsigned kSharing = kJudging | kCaptureCommand;
constexpr unsigned kAll = kBounded | kExplainCommand;
constexpr std::string_view kShares = "What to look at";
constexpr std::string_view kCompare = "What was captured";
constexpr std::string_view kApply = "What to do";
constexpr std::string_view kRecord = "What to record";
constexpr std::string_view kWho = "Who restores";
constexpr std::string_view kDaemon = "How virtiofsd is started there (its own switches)";
constexpr std::string_view kCube = "CubeSandbox";
constexpr std::string_view kReport = "Report";

constexpr std::array kOptions = {
    OptionSpec{"dry-run", Takes::kNothing, "", kRepairCommand | kUndoCommand, kApply,
               "show what would be done, and change nothing", 'n'},
    OptionSpec{"safe", Takes::kNothing, "", kRepairCommand, kApply,
               "apply the steps that lose nothing the guest holds", 'p'},
    OptionSpec{"yes", Takes::kNothing, "", kRepairCommand, kApply,
               "apply all steps, those with casualties too", 'y'},
    OptionSpec{"force", Takes::kNothing, "", kRepairCommand | kUndoCommand, kApply,
               "repair: though another process has the snapshot or the share open; undo: though what is "
               "there is not as the repair left it", 'f'},
    OptionSpec{"state-only", Takes::kNothing, "", kRepairCommand, kApply,
               "change nothing on the host, only the state in the snapshot"},
    OptionSpec{"allow-privileges", Takes::kNothing, "", kRepairCommand, kApply,
               "put setuid, setgid and capabilities back too, as the capture recorded them"},
    OptionSpec{"finish", Takes::kOne, "JOURNAL", kRepairCommand, kApply,
               "instead of a repair: after the confirmed resume, remove the hidden names that the repair "
               "of JOURNAL made"},

    OptionSpec{"nodemap", Takes::kOne, "FILE", kRepairCommand, kApply,
               "what vfsmend nodemap wrote in the guest: inodes whose location was lost get their paths "
               "back, where the share has the same inode number there"},
    OptionSpec{"device", Takes::kOne, "ID", kRepairCommand, kApply,
               "the device whose mount the node map is of, where there are several; the others are left alone"},
    OptionSpec{"drop-caches", Takes::kNothing, "", kNodemapCommand, kApply,
               "first let the kernel forget what nobody uses (2 to /proc/sys/vm/drop_caches): before a "
               "pause it leaves less in the state that can be lost"},

    OptionSpec{"extract", Takes::kOne, "FILE", kRepairCommand, kApply,
               "SNAPSHOT is a libvirt save file or a qcow2 image: its QEMU stream becomes the new file "
               "FILE, and that is repaired"},
    OptionSpec{"vm-state", Takes::kOne, "NAME", kRepairCommand, kApply,
               "with --extract: the VM state of this name or id in the image"},

    OptionSpec{"shared-dir", Takes::kOne, "DIR", kSharing, kShares,
               "the directory that the only device of the snapshot shares"},
    OptionSpec{"share", Takes::kMany, "ID=DIR", kSharing, kShares,
               "the directory that device ID shares; once for each device"},
    OptionSpec{"mount-ns", Takes::kOne, "PID", kMending | kCaptureCommand | kUndoCommand, kShares,
               "look at shared directories in the mount namespace of process PID"},

    OptionSpec{"manifest", Takes::kOne, "FILE", kJudging, kCompare,
               "what vfsmend capture wrote; default: where it leaves it, if it is there"},
    OptionSpec{"policy", Takes::kOne, "FILE", kJudging, kCompare,
               "what to make of differences, by code and path: lines of CODE GLOB ACTION, as in "
               "\"C001 logs/*.log append-ok\""},
    OptionSpec{"hash-budget", Takes::kOne, "BYTES", kJudging, kCompare,
               "bytes to read to compare contents at most; default 268435456"},
    OptionSpec{"search", Takes::kNothing, "", kJudging, kCompare,
               "look for moved files in the whole share, not only near where they were"},
    OptionSpec{"allow-rebind", Takes::kNothing, "", kJudging, kCompare,
               "a copy may stand in for the share, if all contents are the captured ones; a state that "
               "names another sandbox's directory may be given this one's"},
    OptionSpec{"allow-remount", Takes::kNothing, "", kJudging, kCompare,
               "a mount that became writable is repaired, and no reason to rebuild"},
    OptionSpec{"snapshot-id", Takes::kOne, "ID", kJudging, kCompare,
               "your name of the snapshot: refused where the capture had another one"},
    OptionSpec{"sandbox-id", Takes::kOne, "ID", kJudging, kCompare,
               "your name of the sandbox, the same"},

    OptionSpec{"dir", Takes::kOne, "DIR", kCaptureCommand, kShares,
               "capture the tree below DIR instead of a SNAPSHOT"},
    OptionSpec{"tree", Takes::kNothing, "", kCaptureCommand, kRecord,
               "every file of the share, not only what the state names"},
    OptionSpec{"hash", Takes::kOne, "WHICH", kCaptureCommand, kRecord,
               "contents to hash: none, used (what the guest has open) or all; default used"},
    OptionSpec{"hash-budget", Takes::kOne, "BYTES", kCaptureCommand, kRecord,
               "bytes to read for hashes at most; default 1073741824"},
    OptionSpec{"quiesced", Takes::kNothing, "", kCaptureCommand, kRecord,
               "the guest has written back what it held"},
    OptionSpec{"daemon-pid", Takes::kOne, "PID", kCaptureCommand, kRecord,
               "the daemon of the paused sandbox: its command line and id maps are recorded"},
    OptionSpec{"keep-unlinked", Takes::kNothing, "", kCaptureCommand, kRecord,
               "keep the bytes of files that are open and have no name any more, beside the manifest; "
               "needs --daemon-pid"},
    OptionSpec{"snapshot-id", Takes::kOne, "ID", kCaptureCommand, kRecord,
               "your name of the snapshot, for checks to compare"},
    OptionSpec{"sandbox-id", Takes::kOne, "ID", kCaptureCommand, kRecord,
               "your name of the sandbox, the same"},
    OptionSpec{"parent-id", Takes::kOne, "ID", kCaptureCommand, kRecord,
               "your name of the snapshot that this one was made from"},

    OptionSpec{"virtiofsd", Takes::kOne, "PROGRAM", kRehearseCommand, kWho,
               "path of the virtiofsd to ask; its version is what it says itself"},
    OptionSpec{"read-only-bind", Takes::kNothing, "", kRehearseCommand, kWho,
               "bind the share read-only for it: handles for writing fail then"},
    OptionSpec{"profile", Takes::kOne, "NAME", kMending | kCaptureCommand, kWho,
               "virtiofsd, cube-abort (CubeSandbox until June 2026), cube-guest-error (since "
               "then) or cube-remap (since September 2026); default: from the snapshot, the "
               "strictest that fits"},
    OptionSpec{"on-error", Takes::kOne, "POLICY", kJudging, kWho,
               "abort or guest-error, as virtiofsd's --migration-on-error; default abort"},
    OptionSpec{"dialect", Takes::kOne, "NAME", kReading, kWho,
               "of the state: auto, v1, v2 or cube-v1; default auto"},
    OptionSpec{"virtiofsd-version", Takes::kOne, "X.Y.Z", kMending | kCaptureCommand, kWho,
               "version of the virtiofsd that restores; default 1.13.2"},
    OptionSpec{"daemon-uid", Takes::kOne, "UID[:GID]", kMending, kWho,
               "user that it runs as; default 0"},
    OptionSpec{"daemon-args", Takes::kOne, "ARGS", kSharing, kWho,
               "its command line as it runs, in one word; split as a shell does, and nothing "
               "is expanded. Options beside it win over it"},

    OptionSpec{"sandbox", Takes::kOne, "MODE", kJudging, kDaemon,
               "namespace, chroot or none; default namespace"},
    OptionSpec{"writeback", Takes::kNothing, "", kJudging, kDaemon, "writeback cache"},
    OptionSpec{"announce-submounts", Takes::kNothing, "", kJudging, kDaemon,
               "mount points are told to the guest; the default"},
    OptionSpec{"no-announce-submounts", Takes::kNothing, "", kJudging, kDaemon,
               "mount points are not told"},
    OptionSpec{"posix-acl", Takes::kMaybeOne, "WHEN", kJudging, kDaemon,
               "POSIX ACLs; from 1.14 on with never, auto or always"},
    OptionSpec{"inode-file-handles", Takes::kOne, "WHEN", kJudging, kDaemon,
               "never, prefer or mandatory; default never, and prefer from 1.13.3 on"},
    OptionSpec{"modcaps", Takes::kOne, "LIST", kJudging, kDaemon,
               "capabilities, as +dac_read_search:-fowner"},
    OptionSpec{"rlimit-nofile", Takes::kOne, "N", kJudging, kDaemon,
               "limit of descriptors; without it descriptors are not judged"},
    OptionSpec{"thread-pool-size", Takes::kOne, "N", kJudging, kDaemon,
               "threads of its pool; default 0"},
    OptionSpec{"allow-direct-io", Takes::kNothing, "", kJudging, kDaemon,
               "O_DIRECT of the guest is passed on"},
    OptionSpec{"cache", Takes::kOne, "POLICY", kJudging, kDaemon,
               "auto, always, never or metadata; default auto"},
    OptionSpec{"readonly", Takes::kNothing, "", kJudging, kDaemon,
               "the guest cannot change anything"},

    OptionSpec{"allowed-dir", Takes::kMany, "DIR", kMending, kCube,
               "an entry of allowed_dirs; once for each"},
    OptionSpec{"remap-filter", Takes::kNothing, "", kMending, kCube,
               "absolute names are looked for in allowed_dirs by their last part"},
    OptionSpec{"overlay", Takes::kOne, "FILE", kMending | kInspectCommand | kCaptureCommand, kCube,
               "the cube.virtiofs annotation of the resume: a JSON array of {id, "
               "backendfs_config}"},

    OptionSpec{"format", Takes::kOne, "FORMAT", kLooking, kReport,
               "text, json or jsonl (inspect: text or json); default text"},
    OptionSpec{"output", Takes::kOne, "FILE", kLooking, kReport,
               "write there instead of to standard output; the file appears whole or not at "
               "all"},
    OptionSpec{"format", Takes::kOne, "FORMAT", kCaptureCommand, kReport,
               "text or json, of what is told; mtree: no manifest is written, but a specification "
               "for mtree(8)"},
    OptionSpec{"output", Takes::kOne, "FILE", kCaptureCommand, kReport,
               "write the manifest there; default: vfsmend.manifest in the directory SNAPSHOT, or "
               "beside the file SNAPSHOT",
               'o'},
    OptionSpec{"output", Takes::kOne, "FILE", kNodemapCommand, kReport,
               "write the map there, with mode 0600, whole or not at all; default -, standard output", 'o'},
    OptionSpec{"color", Takes::kOne, "WHEN", kAll, kReport,
               "auto, always or never; auto heeds NO_COLOR and CLICOLOR_FORCE"},
    OptionSpec{"redact-paths", Takes::kNothing, "", kLooking, kReport,
               "put a token in place of every name; the same name has the same token"},
    OptionSpec{"max-findings", Takes::kOne, "N", kSharing, kReport,
               "findings in the report, worst first; default 1000. Counts stay whole"},
    OptionSpec{"trace-id", Takes::kOne, "ID", kBounded, kReport,
               "put into the report and before each message"},
    OptionSpec{"deadline", Takes::kOne, "MS", kBounded, kReport,
               "milliseconds until the answer is indeterminate, even where a file system "
               "hangs; default 30000, 0 for none"},
    OptionSpec{"help", Takes::kNothing, "", kAll, kReport, "this text", 'h'},
};

}  // namespace

std::span<const CommandSpec> all_commands() { return kCommands; }
std::span<const OptionSpec> all_options() { return kOptions; }

}  // namespace vfsmend
