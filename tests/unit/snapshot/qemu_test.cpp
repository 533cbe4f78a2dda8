// SPDX-License-Identifier: Apache-2.0
#include "snapshot/qemu.h"

#include <fcntl.h>
#include <gmock/gmock.h>

#include <filesystem>

#include "open_fixture.h"
#include "snapshot/qemu_section.h"
#include "support/forwarding_calls.h"
#include "support/qemu_builder.h"

namespace vfsmend::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::SizeIs;

const std::string kNeverMounted("\x01\x00\x02\x00\x00\x00\x00\x00\x00\x00", 10);

// A state of `bytes` bytes that decodes: one inode, and a mount path of the length that is wanted.
std::string state_of(std::size_t bytes) {
  std::string state("\x01\x01\x01\x02\x00\x00\x02\x00\x00\x00\x00\x00\x00\x01\x05", 15);
  std::string length;
  for (std::size_t n = bytes; n > 0; n >>= 7) {
    length += static_cast<char>((n & 0x7f) | (n >= 0x80 ? 0x80 : 0));
  }
  return state + length + std::string(bytes, 'x');
}

Opened open_file(const std::string& bytes) {
  const TempDir dir;
  return open_path(dir.write("stream", bytes));
}

TEST(Qemu, FindsADeviceItsTagAndThePlaceOfItsChunks) {
  const TempDir dir;
  const std::string path = dir.write(
      "stream", qemu_file({.memory = "memory", .devices = {{.state = kNeverMounted, .chunk = 4}}}));
  const Opened opened = open_path(path);
  ASSERT_TRUE(opened.ok()) << opened.text();
  EXPECT_EQ(opened.recognised, ContainerKind::kQemu);
  ASSERT_THAT(opened.result->devices, SizeIs(1));
  EXPECT_EQ(opened.device().id, "0000:00:01.0");
  EXPECT_EQ(opened.device().tag, "myfs");
  EXPECT_EQ(as_text(*opened.device().state), kNeverMounted);
  EXPECT_EQ(text_at(opened.device().span), qemu_chunks({.state = kNeverMounted, .chunk = 4}));
  EXPECT_THAT(opened.result->notes, IsEmpty());
}

TEST(Qemu, FindsSeveralDevicesInTheOrderOfTheStream) {
  QemuFile file{.devices = {{.idstr = "0000:00:02.0:00.0/vhost-user-fs",
                             .tag = "b",
                             .state = state_of(300'000),
                             .chunk = 1000,
                             .section_id = 12},
                            {.idstr = "0000:00:01.0/vhost-user-fs",
                             .tag = "",
                             .state = state_of(5),
                             .section_id = 13}}};
  for (const bool vmdesc : {true, false}) {
    for (const bool footers : {true, false}) {
      file.vmdesc = vmdesc;
      file.footers = footers;
      const Opened opened = open_file(qemu_file(file));
      ASSERT_TRUE(opened.ok()) << opened.text();
      ASSERT_THAT(opened.result->devices, SizeIs(2)) << vmdesc << footers;
      EXPECT_EQ(opened.device(0).id, "0000:00:02.0:00.0");
      EXPECT_EQ(as_text(*opened.device(0).state), file.devices[0].state);
      EXPECT_EQ(opened.device(1).id, "0000:00:01.0");
      EXPECT_FALSE(opened.device(1).tag);
      EXPECT_EQ(opened.result->notes.empty(), vmdesc);
    }
  }
}

// Guest memory that holds a whole migration file of the same VM, older than this one.
TEST(Qemu, GuestMemoryMayHoldTheSameBytes) {
  QemuFile file{.devices = {{.state = state_of(9)}}};
  for (const bool vmdesc : {true, false}) {
    file.vmdesc = vmdesc;
    file.devices[0].state = state_of(9);
    file.memory.clear();
    const std::string older = qemu_file(file);
    file.devices[0].state = state_of(10);
    file.memory = std::string(1000, '\0') + older + std::string(1000, '\0');
    const Opened opened = open_file(qemu_file(file));
    ASSERT_TRUE(opened.ok()) << opened.text();
    ASSERT_THAT(opened.result->devices, SizeIs(1));
    EXPECT_EQ(as_text(*opened.device().state), state_of(10));
  }
}

TEST(Qemu, TakesStatesThatAreDamagedThemselves) {
  for (const std::string& state : {kNeverMounted + "tail", std::string("\xff\xff no state")}) {
    const Opened opened = open_file(qemu_file({.devices = {{.state = state}}}));
    ASSERT_TRUE(opened.ok()) << opened.text();
    EXPECT_EQ(as_text(*opened.device().state), state);
  }
}

TEST(Qemu, AnEmptyChunkListIsAnEmptyState) {
  const Opened opened = open_file(qemu_file({.devices = {{.state = ""}}}));
  ASSERT_TRUE(opened.ok()) << opened.text();
  ASSERT_TRUE(opened.device().state);
  EXPECT_THAT(*opened.device().state, IsEmpty());
  EXPECT_EQ(opened.device().span.end - opened.device().span.begin, 4U);
}

TEST(Qemu, ADeviceWithoutABackEndStateIsTold) {
  const Opened opened = open_file(qemu_file({.devices = {{.has_backend = false}}}));
  ASSERT_TRUE(opened.ok()) << opened.text();
  ASSERT_THAT(opened.result->devices, SizeIs(1));
  EXPECT_FALSE(opened.device().state);
  EXPECT_THAT(opened.device().notes, ElementsAre(HasSubstr("no back-end state")));
}

TEST(Qemu, AVmWithoutTheDeviceIsNoError) {
  const Opened opened = open_file(qemu_file({}));
  ASSERT_TRUE(opened.ok()) << opened.text();
  EXPECT_THAT(opened.result->devices, IsEmpty());
  EXPECT_THAT(opened.result->notes, ElementsAre(HasSubstr("no vhost-user-fs device")));
}

TEST(Qemu, SaysWhatDoesNotFit) {
  QemuFile file{.devices = {{.state = state_of(50)}}};
  const std::string good = qemu_file(file);
  std::string bad_footer = good;
  bad_footer[good.find('\x7e' + big_endian32(38)) + 4] = '\x07';
  const Opened footer = open_file(bad_footer);
  ASSERT_FALSE(footer.ok());
  EXPECT_EQ(footer.code(), ErrorCode::kFormat);
  EXPECT_EQ(footer.recognised, ContainerKind::kQemu);
  EXPECT_THAT(footer.text(), HasSubstr("0000:00:01.0/vhost-user-fs"));
  EXPECT_THAT(footer.text(), HasSubstr("no footer of section 38"));

  std::string long_chunk = good;
  long_chunk[good.find(backend_mark()) + 27] = '\x7f';
  EXPECT_THAT(open_file(long_chunk).text(), HasSubstr("a chunk of 2130706"));
}

// QEMU passes over vmdesc when it loads: a state that is right loads whatever it says.
TEST(Qemu, AWrongVmdescDoesNoHarm) {
  QemuFile file;
  file.devices = {{.state = state_of(50)}};
  std::string bytes = qemu_file(file);
  const std::size_t size = bytes.rfind("\"size\": ") + 8;
  bytes[size] = '9';
  const Opened opened = open_file(bytes);
  ASSERT_TRUE(opened.ok()) << opened.text();
  EXPECT_EQ(as_text(*opened.device().state), state_of(50));
  EXPECT_THAT(opened.device().notes, ElementsAre(HasSubstr("vmdesc does not describe")));

  bytes = qemu_file(file);
  bytes[bytes.rfind("\"devices\"")] = 'x';
  const Opened unreadable = open_file(bytes);
  ASSERT_TRUE(unreadable.ok()) << unreadable.text();
  EXPECT_EQ(as_text(*unreadable.device().state), state_of(50));
  EXPECT_THAT(unreadable.result->notes, ElementsAre(HasSubstr("cannot be read: byte")));
}

// Whether such a file is whole cannot be known; nobody may be told that it is damaged.
TEST(Qemu, WithoutVmdescAndDeviceItMayBeWholeOrTorn) {
  QemuFile file;
  file.vmdesc = false;
  const std::string whole = qemu_file(file);
  EXPECT_EQ(open_file(whole).code(), ErrorCode::kUnsupported);
  EXPECT_EQ(open_file(whole.substr(0, whole.size() - 1)).code(), ErrorCode::kFormat);
}

TEST(Qemu, ATornFileIsAFormatError) {
  const std::string whole = qemu_file({.devices = {{.state = state_of(5000)}}});
  const Opened opened = open_file(whole.substr(0, whole.find("xxxxx") + 100));
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.code(), ErrorCode::kFormat);
  EXPECT_THAT(opened.text(), HasSubstr("no vmdesc at the end of the file (torn)"));
}

TEST(Qemu, RefusesMappedRamWithAdvice) {
  const std::string capabilities = std::string(
                                       "\x05\x1a"
                                       "configuration/capabilities") +
                                   big_endian32(1) + big_endian32(1) + counted("mapped-ram");
  const Opened opened = open_file(qemu_file({.head_extra = capabilities}));
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.code(), ErrorCode::kUnsupported);
  EXPECT_EQ(opened.recognised, ContainerKind::kQemu);
  EXPECT_THAT(opened.text(), HasSubstr("without the capability mapped-ram"));
}

class CountingCalls final : public ForwardingCalls {
 public:
  ssize_t pread(int fd, std::span<std::uint8_t> out, std::uint64_t offset) override {
    const ssize_t n = ForwardingCalls::pread(fd, out, offset);
    ++reads;
    bytes += n > 0 ? static_cast<std::uint64_t>(n) : 0;
    return n;
  }
  std::uint64_t reads = 0;
  std::uint64_t bytes = 0;
};

// Four gigabytes of guest memory, as a hole.
TEST(Qemu, ReadsTheTailOfALargeFileOnly) {
  constexpr std::uint64_t kMemory = std::uint64_t{4} << 30;
  QemuFile file{.devices = {{.state = state_of(20'000)}}};
  const TempDir dir;
  const std::string path = dir.write("stream", qemu_head(file));
  std::filesystem::resize_file(path, kMemory);
  std::ofstream(path, std::ios::binary | std::ios::app) << qemu_tail(file);

  for (const bool vmdesc : {true, false}) {
    if (!vmdesc) {  // the same, and nothing behind the sections
      file.vmdesc = false;
      std::filesystem::resize_file(path, kMemory);
      std::ofstream(path, std::ios::binary | std::ios::app) << qemu_tail(file);
    }
    CountingCalls calls;
    const Opened opened = open_path(path, {}, calls);
    ASSERT_TRUE(opened.ok()) << opened.text();
    EXPECT_EQ(as_text(*opened.device().state), state_of(20'000));
    // With a vmdesc the search ends with the last device it names; without, nothing tells that
    // there is not one more, and a bounded piece is looked through.
    EXPECT_THAT(calls.reads, Le(vmdesc ? 16U : 64U));
    EXPECT_THAT(calls.bytes, Le(vmdesc ? std::uint64_t{1} << 20 : std::uint64_t{66} << 20));
  }
}

}  // namespace
}  // namespace vfsmend::test
