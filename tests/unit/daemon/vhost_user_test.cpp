// SPDX-License-Identifier: Apache-2.0
// A front-end among back-ends that die, lie and say nothing.
#include "daemon/vhost_user.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "fake_peer.h"
#include "support/descriptors.h"

namespace vfsmend::daemon::test {
namespace {

using vfsmend::test::open_descriptors;

constexpr std::uint64_t kNumber = 0x1122334455667788;

// What comes of GET_FEATURES: the number in hex, or the text of the error.
std::string asked(VhostUser& wire, sys::Deadline deadline = soon()) {
  const auto number = wire.ask_number(Request::kGetFeatures, {}, {}, deadline);
  return number ? fmt::format("{:#x}", *number) : number.error().text;
}
// The same of a peer that takes the message and sends `answer`, then ends.
std::string answered_by(const ByteVector& answer) {
  FakePeer peer([&](PeerEnd& end) {
    (void)end.receive();
    end.send(answer);
  });
  VhostUser wire = peer.front();
  return asked(wire);
}

TEST(VhostUser, AskIsAMessageAndItsReply) {
  Message seen;
  FakePeer peer([&](PeerEnd& end) {
    seen = end.receive();
    end.send(reply(Request::kGetVringBase, raw(std::array<std::uint32_t, 2>{1, 42})));
  });
  VhostUser wire = peer.front();
  const std::array<std::uint8_t, 8> payload{1, 0, 0, 0, 0, 0, 0, 9};
  std::array<std::uint8_t, 8> answer{};
  ASSERT_TRUE(wire.ask(Request::kGetVringBase, payload, {}, answer, soon()));
  EXPECT_EQ(answer, (std::array<std::uint8_t, 8>{1, 0, 0, 0, 42, 0, 0, 0}));
  peer.join();
  EXPECT_EQ(seen.request, Request::kGetVringBase);
  EXPECT_EQ(seen.flags, 1U) << "version 1, and nothing more";
  EXPECT_EQ(seen.payload, ByteVector(payload.begin(), payload.end()));
  EXPECT_TRUE(seen.fds.empty());
}

TEST(VhostUser, TellSendsDescriptorsAndWaitsForNothing) {
  Message seen;
  FakePeer peer([&](PeerEnd& end) { seen = end.receive(); });
  VhostUser wire = peer.front();
  const std::array<int, 2> fds{0, 1};
  ASSERT_TRUE(wire.tell(Request::kSetMemTable, as_bytes("table"), fds, soon()));
  peer.join();
  EXPECT_EQ(seen.request, Request::kSetMemTable);
  EXPECT_EQ(as_text(seen.payload), "table");
  EXPECT_EQ(seen.fds.size(), 2U);
}

TEST(VhostUser, AnAnswerAByteAtATime) {
  FakePeer peer([](PeerEnd& end) {
    (void)end.receive();
    for (const std::uint8_t byte : reply(Request::kGetFeatures, kNumber)) {
      end.send({&byte, 1});
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  VhostUser wire = peer.front();
  EXPECT_EQ(asked(wire), "0x1122334455667788");
}

TEST(VhostUser, BackEndIsGoneBeforeItIsAsked) {
  FakePeer peer([](PeerEnd&) {});
  VhostUser wire = peer.front();
  peer.join();
  const auto number = wire.ask_number(Request::kGetFeatures, {}, {}, soon());
  ASSERT_FALSE(number);
  EXPECT_EQ(number.error().code, ErrorCode::kSystem);
  EXPECT_EQ(number.error().sys_errno, EPIPE);
  EXPECT_EQ(number.error().text, "GET_FEATURES: send: Broken pipe");
}

TEST(VhostUser, BackEndClosesInsteadOfAnAnswerOrInIt) {
  const ByteVector whole = reply(Request::kGetFeatures, kNumber);
  // Before, in and after the header, and before the last byte.
  for (const std::ptrdiff_t sent : {0, 1, 11, 12, 13, 19}) {
    EXPECT_EQ(answered_by({whole.begin(), whole.begin() + sent}),
              "GET_FEATURES: the other side has closed the connection: Connection reset by peer")
        << sent;
  }
  EXPECT_EQ(answered_by(whole), "0x1122334455667788");
}

TEST(VhostUser, BackEndClosesWithoutReading) {
  FakePeer peer([](PeerEnd& end) {
    pollfd readable{end.socket(), POLLIN, 0};
    ::poll(&readable, 1, -1);
  });
  VhostUser wire = peer.front();
  const auto number = wire.ask_number(Request::kGetFeatures, {}, {}, soon());
  ASSERT_FALSE(number);
  EXPECT_EQ(number.error().sys_errno, ECONNRESET);
  EXPECT_EQ(number.error().text, "GET_FEATURES: receive: Connection reset by peer");
}

TEST(VhostUser, AnswersOfAnotherSize) {
  const auto of_size = [](std::uint32_t size) {
    return answered_by(message(Request::kGetFeatures, kReplyFlags, size, raw(kNumber)));
  };
  EXPECT_EQ(of_size(7), "GET_FEATURES: the reply has 7 bytes, not 8");
  EXPECT_EQ(of_size(0), "GET_FEATURES: the reply has 0 bytes, not 8");
  EXPECT_EQ(of_size(9), "GET_FEATURES: the reply has 9 bytes, not 8");
  EXPECT_EQ(of_size(0xffffffff), "GET_FEATURES: the reply has 4294967295 bytes, not 8");
}

TEST(VhostUser, AnswersToSomethingElse) {
  const auto answered = [](std::uint32_t request, std::uint32_t flags) {
    return answered_by(message(static_cast<Request>(request), flags, 8, raw(kNumber)));
  };
  EXPECT_EQ(answered(15, kReplyFlags), "GET_FEATURES: the reply is to request 15");
  EXPECT_EQ(answered(0xdeadbeef, kReplyFlags), "GET_FEATURES: the reply is to request 3735928559");
  EXPECT_EQ(answered(1, 1), "GET_FEATURES: what came is no reply: flags 0x1");
  EXPECT_EQ(answered(1, 4), "GET_FEATURES: what came is no reply: flags 0x4");  // version 0
  EXPECT_EQ(answered(1, 6), "GET_FEATURES: what came is no reply: flags 0x6");  // version 2
  EXPECT_EQ(answered(1, 7), "GET_FEATURES: what came is no reply: flags 0x7");  // version 3
}

TEST(VhostUser, WhatIsNoReplyIsAnErrorOfForm) {
  FakePeer peer([](PeerEnd& end) {
    (void)end.receive();
    end.send(reply(Request::kSetOwner, kNumber));
    end.await_hangup();
  });
  VhostUser wire = peer.front();
  const auto number = wire.ask_number(Request::kGetFeatures, {}, {}, soon());
  ASSERT_FALSE(number);
  EXPECT_EQ(number.error().code, ErrorCode::kFormat);
}

TEST(VhostUser, DescriptorsNobodyAskedForAreClosed) {
  FakePeer peer([](PeerEnd& end) {
    const std::array<int, 8> fds{0, 1, 2, 0, 1, 2, 0, 1};
    for (int i = 0; i < 10; ++i) {
      (void)end.receive();
      const ByteVector answer = reply(Request::kGetFeatures, kNumber);
      end.send(Bytes(answer).first(12), fds);
      end.send(Bytes(answer).subspan(12), fds);
    }
    (void)end.receive();
  });
  VhostUser wire = peer.front();
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(asked(wire), "0x1122334455667788");
  EXPECT_EQ(open_descriptors(), before);
}

void expect_timeout(const Result<void>& done, std::chrono::steady_clock::time_point begin) {
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kTimeout);
  EXPECT_EQ(done.error().text, "GET_FEATURES: no answer in time");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kGenerous / 2);
}

TEST(VhostUser, BackEndThatNeverAnswers) {
  const ByteVector whole = reply(Request::kGetFeatures, kNumber);
  for (const std::ptrdiff_t sent : {0, 5, 12, 19}) {
    FakePeer peer([&](PeerEnd& end) {
      (void)end.receive();
      end.send({whole.data(), static_cast<std::size_t>(sent)});
      end.await_hangup();
    });
    VhostUser wire = peer.front();
    const auto begin = std::chrono::steady_clock::now();
    std::array<std::uint8_t, 8> answer{};
    expect_timeout(wire.ask(Request::kGetFeatures, {}, {}, answer, short_time()), begin);
  }
}

TEST(VhostUser, BackEndThatStopsReading) {
  FakePeer peer([](PeerEnd& end) {
    (void)end.receive();  // one, and then no more
    end.await_hangup();
  });
  VhostUser wire = peer.front();
  ASSERT_TRUE(wire.tell(Request::kSetOwner, {}, {}, soon()));
  const auto begin = std::chrono::steady_clock::now();
  const ByteVector large(16U << 20);
  expect_timeout(wire.tell(Request::kGetFeatures, large, {}, short_time()), begin);
}

TEST(VhostUser, RequestsHaveTheNamesOfTheProtocol) {
  EXPECT_EQ(name_of(Request::kSetVringKick), "SET_VRING_KICK");
  EXPECT_EQ(name_of(Request::kCheckDeviceState), "CHECK_DEVICE_STATE");
  EXPECT_EQ(name_of(Request{99}), "?");
}

}  // namespace
}  // namespace vfsmend::daemon::test
