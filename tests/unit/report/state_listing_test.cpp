// SPDX-License-Identifier: Apache-2.0
#include "report/state_listing.h"

#include <gtest/gtest.h>

#include "report/json.h"
#include "support/json_schema.h"

namespace vfsmend {
namespace {

StateListing listing_of(const State& state, Dialect dialect) {
  Snapshot snapshot;
  snapshot.kind = ContainerKind::kRaw;
  snapshot.path = "/snap/state";
  SnapshotDevice& device = snapshot.devices.emplace_back();
  device.id = "raw";
  device.state = encode(state, dialect);
  return list_states(std::move(snapshot), dialect);
}

State small_state() {
  State state;
  state.inodes = {Inode{1, 4, RootNode{}, std::nullopt}, Inode{2, 3, Path{1, "d", ""}, {}},
                  Inode{3, 1, Path{2, "c", ""}, {}}, Inode{4, 1, Invalid{}, {}}};
  state.next_inode = 5;
  state.handles = {Handle{0, 3, 0x8002}};
  state.next_handle = 1;
  state.options.announce_submounts = true;
  return state;
}

TEST(StateJson, NamesTheStructsOfTheWire) {
  const std::string json = state_json(listing_of(small_state(), Dialect::kV2), 0);
  EXPECT_EQ(json,
            R"({"schema":"vfsmend.state/1","tool":")" + std::string(tool_name()) +
                R"(","exit_code":0,"trace_id":null,)"
                R"("snapshot":{"path":"/snap/state","container":"raw"},)"
                R"("devices":[{"id":"raw","tag":null,"notes":[],"bytes":38,"dialect":"v2",)"
                R"("trailing_bytes":0,"error":null,"state":{"inodes":[)"
                R"({"id":"1","refcount":"4","location":{"RootNode":{}},"file_handle":null},)"
                R"({"id":"2","refcount":"3","location":{"Path":{"parent":"1","filename":"d"}},)"
                R"("file_handle":null},)"
                R"({"id":"3","refcount":"1","location":{"Path":{"parent":"2","filename":"c"}},)"
                R"("file_handle":null},)"
                R"({"id":"4","refcount":"1","location":{"Invalid":{}},"file_handle":null}],)"
                R"("next_inode":"5","handles":[{"id":"0","inode":"3",)"
                R"("source":{"OpenInode":{"flags":32770}},"flags_text":"O_RDWR"}],)"
                R"("next_handle":"1","options":{"writeback":false,"announce_submounts":true,)"
                R"("posix_acl":false,"sup_group_extension":false},"mount_paths":[]}}],)"
                R"("not_read":[],"reason":null})"
                "\n");
}

TEST(StateJson, IsAsItsSchemaSays) {
  const test::JsonSchema schema("state.schema.json");
  State state = small_state();
  EXPECT_EQ(schema.complaint(state_json(listing_of(state, Dialect::kV2), 0)), "");
  const ByteVector data = {0x0a, 0xff};
  const FileHandle handle{26, -1, data};
  state.inodes.push_back(Inode{5, 1, HandleLocation{handle}, handle});
  state.inodes.push_back(Inode{6, 1, FullPath{"x/y"}, handle});
  state.mount_paths = {{26, "mnt"}};
  const std::string json = state_json(listing_of(state, Dialect::kV2), 0);
  EXPECT_EQ(schema.complaint(json), "");
  EXPECT_NE(json.find(R"({"mnt_id":"26","handle_type":-1,"handle":"0aff"})"), std::string::npos);
  State cube = small_state();
  cube.inodes[1].location = Path{1, "d", "/binds/d"};
  EXPECT_EQ(schema.complaint(state_json(listing_of(cube, Dialect::kCubeV1), 0)), "");
  StateListing nothing;
  nothing.reason = "cannot be opened";
  EXPECT_EQ(schema.complaint(state_json(nothing, 8)), "");
}

TEST(StateJson, SaysWhereAStateBreaks) {
  Snapshot snapshot;
  snapshot.kind = ContainerKind::kQemu;
  snapshot.devices.emplace_back().state = ByteVector{1, 6, 1};
  const StateListing listing = list_states(std::move(snapshot), std::nullopt);
  EXPECT_FALSE(listing.reason.empty());
  const std::string json = state_json(listing, 8);
  EXPECT_NE(json.find(R"("error":{"text":"Hit the end of buffer, expected more data","offset":3,)"),
            std::string::npos)
      << json;
  EXPECT_EQ(test::JsonSchema("state.schema.json").complaint(json), "");
}

TEST(StateText, ShowsNamesFromTheRoot) {
  const std::string text = state_text(listing_of(small_state(), Dialect::kV2), TextStyle{});
  EXPECT_EQ(text,
            "/snap/state (raw)\n"
            "\n"
            "device raw: 38 bytes of v2\n"
            "  4 inodes (1 RootNode, 2 Path, 1 Invalid), the next is 5\n"
            "  1 handle, the next is 1\n"
            "  options: announce_submounts\n"
            "\n"
            "  inode   refs  name\n"
            "      1      4  [root]\n"
            "      2      3  d\n"
            "      3      1  d/c\n"
            "      4      1  [Invalid]\n"
            "\n"
            " handle  inode  flags, name\n"
            "      0      3  O_RDWR, d/c\n");
}

TEST(StateText, EndsInACircleOfParents) {
  State state;
  state.inodes = {Inode{2, 1, Path{3, "a", ""}, {}}, Inode{3, 1, Path{2, "b", ""}, {}},
                  Inode{4, 1, Path{99, "c", ""}, {}}};
  const std::string text = state_text(listing_of(state, Dialect::kV2), TextStyle{});
  EXPECT_NE(text.find(".../"), std::string::npos);
  EXPECT_NE(text.find("?/c\n"), std::string::npos);
}

TEST(StateText, HidesNamesWhereAsked) {
  StateListing listing = listing_of(small_state(), Dialect::kV2);
  listing.redact_paths = true;
  for (const std::string& out : {state_text(listing, TextStyle{}), state_json(listing, 0)}) {
    EXPECT_EQ(out.find("/snap"), std::string::npos) << out;
    EXPECT_EQ(out.find("\"filename\":\"d\""), std::string::npos) << out;
    EXPECT_EQ(out.find(" d/c"), std::string::npos) << out;
  }
}

}  // namespace
}  // namespace vfsmend
