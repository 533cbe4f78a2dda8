// SPDX-License-Identifier: Apache-2.0
// The file of a node map: back as it was written, and a clear error for everything else.
#include "manifest/nodemap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "manifest/nodemap_proc.h"
#include "support/temp_dir.h"

namespace vfsmend {
namespace {

using test::TempDir;
using testing::HasSubstr;

constexpr const char* kHead =
    R"({"schema":"vfsmend.nodemap/1","tool":"t","time":"","mount":"/m","fs_type":"fuse","source":"s","entries":[)";

std::string error_of(const std::string& text) {
  const auto map = parse_node_map(text);
  return map ? "none" : map.error().text;
}

std::string error_of_entry(const std::string& entry) {
  return error_of(kHead + std::string(R"({"node":"2","ino":"3","path":"a","kind":"fd"},)") + entry +
                  "]}");
}

RC_GTEST_PROP(NodeMapFile, ComesBackAsItWasWritten, ()) {
  NodeMap map;
  map.tool = "vfsmend 1";
  map.time = "2026-01-31T12:00:00Z";
  map.mount_point = *rc::gen::arbitrary<std::string>();
  map.fs_type = "virtiofs";
  map.source = *rc::gen::arbitrary<std::string>();
  for (int i = *rc::gen::inRange(0, 5); i > 0; --i) {
    NodeMapEntry entry;
    entry.node = std::max<NodeId>(1, *rc::gen::arbitrary<NodeId>());
    entry.ino = *rc::gen::arbitrary<std::uint64_t>();
    entry.path = *rc::gen::arbitrary<std::string>();
    entry.kind = static_cast<HolderKind>(*rc::gen::inRange(0, 5));
    entry.pid = *rc::gen::inRange(1, 1 << 22);
    if (entry.kind == HolderKind::kFd) {
      entry.fd = *rc::gen::inRange(0, 1 << 20);
      entry.flags = *rc::gen::arbitrary<std::int32_t>();
    }
    entry.nlink = *rc::gen::inRange(0, 1 << 20);
    entry.deleted = *rc::gen::arbitrary<bool>();
    map.entries.push_back(std::move(entry));
  }
  map.warnings = {"/proc/7/fd: Permission denied"};
  const std::string text = node_map_text(map);
  const auto back = parse_node_map(text);
  RC_ASSERT(back.has_value());
  RC_ASSERT(back->entries == map.entries);
  RC_ASSERT(back->mount_point == map.mount_point);
  RC_ASSERT(back->source == map.source);
  RC_ASSERT(back->warnings == map.warnings);
  RC_ASSERT(node_map_text(*back) == text);
}

TEST(NodeMapFile, NamesThePlaceOfWhatIsWrong) {
  EXPECT_THAT(error_of(""), HasSubstr("byte 0: "));
  EXPECT_THAT(error_of(std::string(kHead)), HasSubstr("byte "));
  EXPECT_EQ(error_of("[]"), "no JSON object");
  EXPECT_EQ(error_of("{}"), "\"schema\" is missing, or no text");
  EXPECT_EQ(
      error_of(R"({"schema":"vfsmend.journal/1"})"),
      "\"vfsmend.journal/1\" is not vfsmend.nodemap/1: take a map that vfsmend nodemap wrote");
  EXPECT_EQ(error_of_entry("7"), "entries[1]: no JSON object");
  EXPECT_EQ(error_of_entry(R"({"node":7})"), "entries[1]: \"node\" is missing, or no text");
  EXPECT_EQ(error_of_entry(R"({"node":"0"})"), "entries[1]: \"node\" is 0, the id of no node");
  EXPECT_EQ(error_of_entry(R"({"node":"-1"})"),
            "entries[1]: \"node\" is \"-1\", no decimal number of 64 bits");
  EXPECT_EQ(error_of_entry(R"({"node":"18446744073709551616"})"),
            "entries[1]: \"node\" is \"18446744073709551616\", no decimal number of 64 bits");
  EXPECT_EQ(error_of_entry(R"({"node":"4","ino":"5","path_b64":"%"})"),
            "entries[1]: \"path_b64\" is no base64");
  EXPECT_EQ(error_of_entry(R"({"node":"4","ino":"5","path":"a","kind":"tty"})"),
            "entries[1]: \"kind\" is \"tty\", none of fd, cwd, root, exe, map");
  EXPECT_EQ(error_of_entry(R"({"node":"4","ino":"5","path":"a","kind":"fd","fd":4294967296})"),
            "entries[1]: \"fd\" is no number of 32 bits");
  EXPECT_EQ(error_of_entry(R"({"node":"4","ino":"5","path":"a","kind":"fd","deleted":"no"})"),
            "entries[1]: \"deleted\" is neither true nor false");
}

// Nested as deep as a file can be: the reader keeps no stack of its own for that.
TEST(NodeMapFile, DeepNestingIsAnErrorAndNoCrash) {
  EXPECT_NE(error_of(std::string(1 << 20, '[')), "none");
  EXPECT_NE(error_of(kHead + std::string(1 << 20, '[') + std::string(1 << 20, ']') + "]}"), "none");
}

RC_GTEST_PROP(NodeMapFile, DamageIsAnErrorOrAnotherMap, (const std::string& noise)) {
  NodeMap map;
  map.entries.push_back({7, 8, "a/b", HolderKind::kFd, 1, 2, 3, 1, true});
  std::string text = node_map_text(map);
  const auto at = static_cast<std::size_t>(*rc::gen::inRange(0, static_cast<int>(text.size())));
  text.replace(at, noise.size(), noise);
  const auto damaged = parse_node_map(text);
  RC_ASSERT(damaged.has_value() || !damaged.error().text.empty());
}

TEST(NodeMapFile, OnlyARegularFileOfABoundedSizeIsRead) {
  const TempDir dir;
  const auto error = [](const std::string& path) {
    return read_node_map(sys::kernel(), path).error().text;
  };
  EXPECT_THAT(error(dir / "none"), HasSubstr("none: cannot be opened: No such file"));
  EXPECT_THAT(error(dir.path()), HasSubstr("directory"));
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  EXPECT_THAT(error(dir / "fifo"), HasSubstr("FIFO"));
  dir.write("large", "");
  std::filesystem::resize_file(dir / "large", (std::uintmax_t{64} << 20) + 1);
  EXPECT_THAT(error(dir / "large"), HasSubstr("large: 67108865 bytes are too many for a node map"));
}

TEST(ProcTexts, DescriptorsMappingsAndPaths) {
  const DescriptorInfo info = descriptor_info("pos:\t0\nflags:\t0100002\nmnt_id:\t29\nino:\t7\n");
  EXPECT_EQ(info.flags, 0100002);
  EXPECT_EQ(info.mount_id, 29);
  EXPECT_EQ(descriptor_info("flags:\t9\n").flags, -1);
  const std::string maps =
      "00400000-00401000 r-xp 00000000 00:2a 7                          /share/a b\n"
      "7f0000000000-7f0000001000 r--p 00000000 00:2a 7                  /share/a b\n"
      "7f0000002000-7f0000003000 r--p 00000000 00:2b 7                  /other\n"
      "7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0                  [stack]\n"
      "no line of maps\n";
  EXPECT_THAT(file_mappings(maps, {"0:42"}),
              testing::ElementsAre("400000-401000", "7f0000000000-7f0000001000"));
  EXPECT_EQ(path_after("/share/a", "/share"), "a");
  EXPECT_EQ(path_after("/share", "/share"), "");
  EXPECT_EQ(path_after("/shared", "/share"), std::nullopt);
  EXPECT_EQ(path_after("/a", "/"), "a");
}

}  // namespace
}  // namespace vfsmend
