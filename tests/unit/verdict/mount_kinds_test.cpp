// SPDX-License-Identifier: Apache-2.0
// What lies below a mount is judged by the file system that is mounted there, and not by the share's.
#include "verdict/mount_kinds.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/stat.h>

#include "support/manifest_builder.h"
#include "support/temp_dir.h"
#include "verdict/record.h"

namespace vfsmend::test {
namespace {

constexpr std::uint32_t kDirectory = S_IFDIR | 0755;
constexpr std::uint32_t kFile = S_IFREG | 0644;

// 0 root, 1 "d", 2 "m", 3 "d/f", 4 "d/n", 5 "m/f", 6 "d/n/f"
ManifestSection section_with(std::vector<ManifestMount> mounts, std::uint64_t magic = 0xef53) {
  ManifestSection out;
  out.fs_magic = magic;
  out.devices = {1};
  out.xattr_sets = {{}};
  out.mounts = std::move(mounts);
  EntryTable& e = out.entries;
  add_entry(e, kNoParent, "", kDirectory, 2);
  add_entry(e, 0, "d", kDirectory, 10);
  add_entry(e, 0, "m", kDirectory, 11);
  add_entry(e, 1, "f", kFile, 12);
  add_entry(e, 1, "n", kDirectory, 13);
  add_entry(e, 2, "f", kFile, 14);
  add_entry(e, 4, "f", kFile, 15);
  return out;
}

TEST(MountKinds, OfTheNearestMountAbove) {
  const ManifestSection section = section_with({{1, "", "ext4", "", "", false, false},
                                                {2, "m", "overlay", "", "", false, false},
                                                {3, "d", "fuse.sshfs", "", "", false, false},
                                                {4, "d/n", "ext4", "", "", false, false},
                                                {5, "not/recorded", "fuse", "", "", false, false}});
  const MountKinds kinds(section);
  EXPECT_EQ(kinds.at(0), MountKind::kPlain);
  EXPECT_EQ(kinds.at(1), MountKind::kFuse);
  EXPECT_EQ(kinds.at(3), MountKind::kFuse);
  EXPECT_EQ(kinds.at(4), MountKind::kPlain);
  EXPECT_EQ(kinds.at(6), MountKind::kPlain);
  EXPECT_EQ(kinds.at(2), MountKind::kOverlay);
  EXPECT_EQ(kinds.at(5), MountKind::kOverlay);
}

TEST(MountKinds, OfTheShareWhereNothingIsMounted) {
  const ManifestSection section = section_with({}, OVERLAYFS_SUPER_MAGIC);
  EXPECT_EQ(MountKinds(section).at(6), MountKind::kOverlay);
  EXPECT_EQ(MountKinds(ManifestSection{}).at(0), MountKind::kPlain);
}

// FUSE makes its handles up anew with every mount: other ones below a FUSE mount are no other objects.
TEST(MountKinds, OtherHandlesAfterAMountBelowTheShare) {
  const TempDir dir;
  const std::string path = dir.write("f", ByteVector{1});
  sys::Calls& calls = sys::kernel();
  struct statx stat{};
  ASSERT_EQ(calls.statx(AT_FDCWD, path.c_str(), 0, kObjectMask, stat), 0);
  for (const bool fuse : {true, false}) {
    ManifestSection section =
        section_with({{2, "m", fuse ? "fuse.sshfs" : "ext4", "", "", false, false}});
    const ObjectFacts now = facts_of(stat);
    section.entries.ino[5] = now.ino;
    section.entries.btime[5] = now.btime;
    section.devices = {now.device + 1};
    LazyHandle handle(calls, AT_FDCWD, path.c_str(), 0);
    if (handle.ask() != 0) GTEST_SKIP() << "no file handles here";
    Today today;
    const std::uint16_t changes = identity_changes(section, MountKinds(section), 5, now, handle, today);
    EXPECT_EQ((changes & kOtherObject) == 0, fuse);
  }
}

}  // namespace
}  // namespace vfsmend::test
