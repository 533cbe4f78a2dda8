// SPDX-License-Identifier: Apache-2.0
#include "sys/stream_socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

#include "support/descriptors.h"
#include "support/temp_dir.h"
#include "sys/shared_memory.h"

namespace vfsmend::sys {
namespace {

using test::TempDir;

constexpr std::chrono::seconds kGenerous{10};

Deadline soon() { return Deadline::in(kGenerous); }
Deadline short_time() { return Deadline::in(std::chrono::milliseconds(50)); }

class Pair : public testing::Test {
 protected:
  void SetUp() override {
    auto pair = connected_pair();
    ASSERT_TRUE(pair) << pair.error().text;
    ours_ = std::move(pair->first);
    theirs_ = std::move(pair->second);
  }
  [[nodiscard]] std::string received(int socket, std::size_t size) const {
    ByteVector out(size);
    const auto got = receive_all(socket, out, soon());
    return got ? std::string(as_text(out)) : "error: " + got.error().text;
  }

  UniqueFd ours_;
  UniqueFd theirs_;
};

TEST_F(Pair, WhatIsSentIsReceived) {
  ASSERT_TRUE(send_all(ours_.get(), as_bytes("hello world"), {}, soon()));
  EXPECT_EQ(received(theirs_.get(), 5), "hello");
  EXPECT_EQ(received(theirs_.get(), 6), " world");
  ASSERT_TRUE(send_all(theirs_.get(), as_bytes("back"), {}, soon()));
  EXPECT_EQ(received(ours_.get(), 4), "back");
}

TEST_F(Pair, BothEndsDoNotBlockAndAreNotInherited) {
  for (const int socket : {ours_.get(), theirs_.get()}) {
    EXPECT_NE(::fcntl(socket, F_GETFL) & O_NONBLOCK, 0);
    EXPECT_NE(::fcntl(socket, F_GETFD) & FD_CLOEXEC, 0);
  }
}

TEST_F(Pair, AByteAtATime) {
  std::thread slow([&] {
    for (const char c : std::string_view("slowly")) {
      (void)send_all(theirs_.get(), as_bytes({&c, 1}), {}, soon());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  EXPECT_EQ(received(ours_.get(), 6), "slowly");
  slow.join();
}

TEST_F(Pair, MoreThanTheBuffersHold) {
  const std::string big(8U << 20, 'b');
  std::thread sender([&] { EXPECT_TRUE(send_all(theirs_.get(), as_bytes(big), {}, soon())); });
  EXPECT_TRUE(received(ours_.get(), big.size()) == big);
  sender.join();
}

TEST_F(Pair, DescriptorsGoWithTheFirstByte) {
  const auto file = memory_file("test", as_bytes("inside"));
  ASSERT_TRUE(file);
  const std::array<int, 2> fds{file->get(), ours_.get()};
  ASSERT_TRUE(send_all(ours_.get(), as_bytes("xy"), fds, soon()));
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof fds)> control{};
  std::array<char, 2> bytes{};
  iovec part{bytes.data(), bytes.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  ASSERT_EQ(::recvmsg(theirs_.get(), &header, MSG_CMSG_CLOEXEC), 2);
  const cmsghdr* rights = CMSG_FIRSTHDR(&header);
  ASSERT_NE(rights, nullptr);
  ASSERT_EQ(rights->cmsg_len, CMSG_LEN(sizeof fds));
  std::array<int, 2> got{};
  std::memcpy(got.data(), CMSG_DATA(rights), sizeof got);
  const UniqueFd first(got[0]);
  const UniqueFd second(got[1]);
  EXPECT_EQ(read_memory_file(first.get(), 100).value_or("?"), "inside");
}

TEST_F(Pair, DescriptorsThatComeAreClosed) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{8}, std::size_t{200}}) {
    const std::size_t before = test::open_descriptors();
    const std::vector<int> fds(count, theirs_.get());
    std::vector<char> control(CMSG_SPACE(count * sizeof(int)));
    iovec part{const_cast<char*>("ab"), 2};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(rights), fds.data(), count * sizeof(int));
    ASSERT_EQ(::sendmsg(theirs_.get(), &header, 0), 2);
    EXPECT_EQ(received(ours_.get(), 2), "ab");
    EXPECT_EQ(test::open_descriptors(), before) << count;
  }
}

TEST_F(Pair, NothingComesInTime) {
  const auto begin = std::chrono::steady_clock::now();
  std::array<std::uint8_t, 4> out{};
  ASSERT_TRUE(send_all(theirs_.get(), as_bytes("abc"), {}, soon()));  // one too few
  const auto got = receive_all(ours_.get(), out, short_time());
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kTimeout);
  EXPECT_EQ(got.error().text, "no answer in time");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kGenerous);
}

TEST_F(Pair, NobodyReadsInTime) {
  const auto begin = std::chrono::steady_clock::now();
  const ByteVector big(8U << 20);
  const auto sent = send_all(ours_.get(), big, {}, short_time());
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, ErrorCode::kTimeout);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kGenerous);
}

TEST_F(Pair, TheOtherSideHasGoneAway) {
  ASSERT_TRUE(send_all(theirs_.get(), as_bytes("ab"), {}, soon()));
  theirs_.reset();
  EXPECT_EQ(received(ours_.get(), 3),
            "error: the other side has closed the connection: Connection reset by peer");
  const auto sent = send_all(ours_.get(), as_bytes("x"), {}, soon());
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().sys_errno, EPIPE);
  EXPECT_EQ(sent.error().text, "send: Broken pipe");
}

TEST_F(Pair, TheOtherSideGoesAwayWithoutReading) {
  ASSERT_TRUE(send_all(ours_.get(), as_bytes("never read"), {}, soon()));
  theirs_.reset();
  EXPECT_EQ(received(ours_.get(), 1), "error: receive: Connection reset by peer");
}

TEST(WaitingConnection, IsThereForWhoHasTheListener) {
  const TempDir dir;
  auto made = waiting_connection(dir / "socket");
  ASSERT_TRUE(made) << made.error().text;
  EXPECT_TRUE(std::filesystem::is_empty(dir.path())) << "the name is still there";
  ASSERT_TRUE(send_all(made->ours.get(), as_bytes("early"), {}, soon()));
  const UniqueFd accepted(::accept4(made->listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  ASSERT_TRUE(accepted.valid());
  std::array<char, 5> bytes{};
  ASSERT_EQ(::read(accepted.get(), bytes.data(), bytes.size()), 5);
  EXPECT_EQ(std::string(bytes.data(), bytes.size()), "early");
}

TEST(WaitingConnection, TheListenerGoesAwayUnused) {
  const TempDir dir;
  auto made = waiting_connection(dir / "socket");
  ASSERT_TRUE(made);
  made->listener.reset();
  std::array<std::uint8_t, 1> out{};
  const auto got = receive_all(made->ours.get(), out, soon());
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().sys_errno, ECONNRESET);
}

TEST(WaitingConnection, PathsThatCannotBe) {
  const TempDir dir;
  const auto text_of = [](const std::string& path) {
    const auto made = waiting_connection(path);
    return made ? "made" : made.error().text;
  };
  const std::string just_fits = dir.path() + "/" + std::string(106 - dir.path().size(), 's');
  EXPECT_EQ(text_of(just_fits), "made");
  EXPECT_EQ(text_of(just_fits + "s"), just_fits + "s: too long for a socket");
  EXPECT_EQ(text_of(dir / "no/socket"), "bind " + (dir / "no/socket") + ": No such file or directory");
  const std::string taken = dir.write("taken", "a file of somebody's");
  EXPECT_EQ(text_of(taken), "bind " + taken + ": Address already in use");
  EXPECT_EQ(test::read_text(taken), "a file of somebody's");
}

}  // namespace
}  // namespace vfsmend::sys
