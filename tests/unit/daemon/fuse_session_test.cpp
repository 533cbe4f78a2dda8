// SPDX-License-Identifier: Apache-2.0
// A guest's session with a device that serves it well, and with ones that do not.
#include "daemon/fuse_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <limits>

#include "fake_device.h"

namespace vfsmend::daemon::test {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr std::uint64_t kFeatures = 0x174000000;  // what virtiofsd has

std::uint32_t opcode_of(Bytes request) {
  fuse_in_header in{};
  std::memcpy(&in, request.data(), sizeof in);
  return in.opcode;
}
fuse_in_header header_of(Bytes request) {
  fuse_in_header in{};
  std::memcpy(&in, request.data(), sizeof in);
  return in;
}

Answer answer_init(Bytes request, std::uint32_t flags = 0) {
  fuse_init_out out{};
  out.major = FUSE_KERNEL_VERSION;
  out.minor = FUSE_KERNEL_MINOR_VERSION;
  out.flags = flags;
  return fuse_answer(request, 0, raw(out));
}

class Session : public testing::Test {
 protected:
  // A session with a device that agrees to FUSE_INIT, and does `answering` with what follows.
  void start(Answering answering, std::chrono::milliseconds patience = kGenerous,
             std::uint32_t init_flags = 0) {
    device_.emplace([=](Bytes request, std::size_t capacity) -> std::optional<Answer> {
      if (opcode_of(request) == FUSE_INIT) return answer_init(request, init_flags);
      if (opcode_of(request) == FUSE_FORGET) return Answer{};
      return answering(request, capacity);
    });
    auto session = connect({}, patience);
    ASSERT_TRUE(session) << session.error().text;
    session_.emplace(std::move(*session));
  }
  Result<FuseSession> connect(const SessionWishes& wishes, std::chrono::milliseconds patience) {
    peer_.emplace([this](PeerEnd& end) { device_->play(end); });
    wire_.emplace(peer_->front());
    return FuseSession::start(*wire_, kFeatures, wishes, patience);
  }
  // Ends the connection: what the device has noted can be read then.
  FakeDevice& device() {
    session_.reset();
    wire_.reset();
    peer_->join();
    return *device_;
  }
  // The error of a GETATTR that is answered like this.
  Error error_of(Answering answering, std::chrono::milliseconds patience = kGenerous) {
    start(std::move(answering), patience);
    if (!session_) return {};
    const auto attributes = session_->getattr(1);
    EXPECT_FALSE(attributes);
    Error error = attributes ? Error{} : attributes.error();
    (void)device();
    return error;
  }

  std::optional<FakeDevice> device_;
  std::optional<FakePeer> peer_;
  std::optional<VhostUser> wire_;
  std::optional<FuseSession> session_;
};

TEST_F(Session, StartSetsUpTheDevice) {
  start([](Bytes, std::size_t) { return std::nullopt; });
  using enum Request;
  EXPECT_THAT(device().seen,
              ElementsAre(kSetProtocolFeatures, kSetOwner, kSetFeatures, kSetMemTable, kSetVringNum,
                          kSetVringBase, kSetVringAddr, kSetVringCall, kSetVringKick, kSetVringEnable,
                          kSetVringNum, kSetVringBase, kSetVringAddr, kSetVringCall, kSetVringKick,
                          kSetVringEnable, kGetFeatures));
  EXPECT_EQ(device().features, 0x140000000U) << "version 1 and protocol features, no more";
  EXPECT_THAT(device().opcodes[1], ElementsAre(FUSE_INIT));
}

TEST_F(Session, WishesStandInInit) {
  const auto flags_of = [&](const SessionWishes& wishes) {
    std::uint32_t flags = 0;
    device_.emplace([&](Bytes request, std::size_t) {
      fuse_init_in in{};
      std::memcpy(&in, request.data() + sizeof(fuse_in_header), sizeof in);
      flags = in.flags;
      return answer_init(request);
    });
    EXPECT_TRUE(connect(wishes, kGenerous));
    (void)device();
    return flags & (FUSE_WRITEBACK_CACHE | FUSE_SUBMOUNTS | FUSE_POSIX_ACL);
  };
  EXPECT_EQ(flags_of({false, false, false}), 0U);
  EXPECT_EQ(flags_of({true, false, false}), std::uint32_t{FUSE_WRITEBACK_CACHE});
  EXPECT_EQ(flags_of({false, true, false}), std::uint32_t{FUSE_SUBMOUNTS});
  EXPECT_EQ(flags_of({false, false, true}), std::uint32_t{FUSE_POSIX_ACL});
}

TEST_F(Session, LookupOfAName) {
  start([](Bytes request, std::size_t) {
    EXPECT_EQ(header_of(request).nodeid, 7U);
    EXPECT_EQ(as_text(request.subspan(sizeof(fuse_in_header))), std::string_view("name\0", 5));
    fuse_entry_out out{};
    out.nodeid = 8;
    out.attr.ino = 99;
    out.attr.size = 5;
    out.attr.mode = 0100644;
    return fuse_answer(request, 0, raw(out));
  });
  const auto looked = session_->lookup(7, "name");
  ASSERT_TRUE(looked) << looked.error().text;
  EXPECT_EQ(looked->node, 8U);
  EXPECT_EQ(looked->attributes.ino, 99U);
  EXPECT_EQ(looked->attributes.size, 5U);
  EXPECT_EQ(looked->attributes.mode, 0100644U);
}

TEST_F(Session, ReadsWhatTheDeviceGives) {
  start([](Bytes request, std::size_t capacity) {
    EXPECT_EQ(capacity, sizeof(fuse_out_header) + 100);
    return fuse_answer(request, 0, as_bytes("short"));
  });
  EXPECT_EQ(session_->read(2, 3, 0, 100).value_or("?"), "short");
}

TEST_F(Session, EachRequestHasItsNumber) {
  std::vector<std::uint64_t> uniques;
  start([&](Bytes request, std::size_t) {
    uniques.push_back(header_of(request).unique);
    return fuse_answer(request, 0, {});
  });
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(session_->release(2, 1, false));
  (void)device();
  EXPECT_THAT(uniques, ElementsAre(2, 3, 4)) << "1 was FUSE_INIT";
}

TEST_F(Session, ForgetGoesOverTheOtherQueue) {
  start([](Bytes, std::size_t) { return std::nullopt; });
  EXPECT_TRUE(session_->forget(2, 1));
  EXPECT_THAT(device().opcodes[0], ElementsAre(FUSE_FORGET));
  EXPECT_THAT(device().opcodes[1], ElementsAre(FUSE_INIT));
}

TEST_F(Session, SetxattrIsAsLongAsAgreed) {
  for (const bool ext : {false, true}) {
    std::size_t length = 0;
    start([&](Bytes request, std::size_t) {
      length = request.size();
      return fuse_answer(request, 0, {});
    }, kGenerous, ext ? FUSE_SETXATTR_EXT : 0);
    EXPECT_TRUE(session_->setxattr(2, "user.a", "value"));
    (void)device();
    EXPECT_EQ(length, sizeof(fuse_in_header) + (ext ? 16 : 8) + 7 + 5);
  }
}

TEST_F(Session, StopAsksBothRings) {
  start([](Bytes, std::size_t) { return std::nullopt; });
  EXPECT_TRUE(session_->stop());
  std::vector<Request> seen = device().seen;
  seen.erase(seen.begin(), seen.end() - 2);
  EXPECT_THAT(seen, Each(Request::kGetVringBase));
}

TEST_F(Session, ErrorsOfFuseAreErrorsOfTheSystem) {
  for (const int err : {ENOENT, EIO, EOPNOTSUPP}) {
    const Error error = error_of(
        [=](Bytes request, std::size_t) { return fuse_answer(request, -err, {}); });
    EXPECT_EQ(error.code, ErrorCode::kSystem);
    EXPECT_EQ(error.sys_errno, err);
  }
  const Error error =
      error_of([](Bytes request, std::size_t) { return fuse_answer(request, -ENOENT, {}); });
  EXPECT_EQ(error.text, "FUSE opcode 3: No such file or directory");
}

TEST_F(Session, NumbersThatAreNoError) {
  for (const std::int32_t number : {1, 4096, -4096, std::numeric_limits<std::int32_t>::min()}) {
    const Error error = error_of(
        [=](Bytes request, std::size_t) { return fuse_answer(request, number, {}); });
    EXPECT_EQ(error.code, ErrorCode::kFormat);
    EXPECT_EQ(error.text, "FUSE request 2: an answer with error " + std::to_string(number));
  }
}

TEST_F(Session, AnotherUnique) {
  const Error error = error_of([](Bytes request, std::size_t) {
    Answer answer = fuse_answer(request, 0, ByteVector(sizeof(fuse_attr_out)));
    const std::uint64_t other = 77;
    std::memcpy(answer.bytes.data() + offsetof(fuse_out_header, unique), &other, sizeof other);
    return answer;
  });
  EXPECT_EQ(error.code, ErrorCode::kFormat);
  EXPECT_EQ(error.text, "FUSE request 2: an answer to 77, of 120 bytes in 120");
}

TEST_F(Session, ALengthThatIsNotWhatWasWritten) {
  const auto with_length = [&](std::uint32_t length) {
    return error_of([=](Bytes request, std::size_t) {
      Answer answer = fuse_answer(request, 0, ByteVector(sizeof(fuse_attr_out)));
      std::memcpy(answer.bytes.data(), &length, sizeof length);
      return answer;
    }).text;
  };
  EXPECT_EQ(with_length(121), "FUSE request 2: an answer to 2, of 121 bytes in 120");
  EXPECT_EQ(with_length(0xffffffff), "FUSE request 2: an answer to 2, of 4294967295 bytes in 120");
  EXPECT_EQ(with_length(15), "FUSE request 2: an answer to 2, of 15 bytes in 120");
  EXPECT_EQ(with_length(0), "FUSE request 2: an answer to 2, of 0 bytes in 120");
  EXPECT_EQ(with_length(119), "an answer of 103 bytes where 104 were due");
  EXPECT_EQ(with_length(16), "an answer of 0 bytes where 104 were due");
}

TEST_F(Session, LessThanAHeader) {
  const Error error = error_of([](Bytes, std::size_t) { return Answer{}; });
  EXPECT_EQ(error.code, ErrorCode::kFormat);
  EXPECT_EQ(error.text, "an answer of 0 bytes where 16 were due");
}

TEST_F(Session, MoreThanWasAskedFor) {
  const Error error = error_of([](Bytes request, std::size_t) {
    Answer answer = fuse_answer(request, 0, ByteVector(sizeof(fuse_attr_out)));
    answer.written = 121;
    return answer;
  });
  EXPECT_EQ(error.code, ErrorCode::kFormat);
  EXPECT_EQ(error.text, "the device says it wrote 121 bytes where 120 fit");
}

TEST_F(Session, NeverAnAnswer) {
  const auto begin = std::chrono::steady_clock::now();
  const Error error =
      error_of([](Bytes, std::size_t) { return std::nullopt; }, std::chrono::milliseconds(50));
  EXPECT_EQ(error.code, ErrorCode::kTimeout);
  EXPECT_EQ(error.text, "the device has not answered in time");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kGenerous / 2);
}

TEST_F(Session, TooMuchToWrite) {
  start([](Bytes, std::size_t) { return std::nullopt; });
  const auto written = session_->write(2, 3, 0, std::string(Virtqueue::kBuffer, 'x'));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kLimit);
}

TEST_F(Session, InitThatIsRefused) {
  device_.emplace([](Bytes request, std::size_t) { return fuse_answer(request, -EPROTO, {}); });
  const auto session = connect({}, kGenerous);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().text, "FUSE opcode 26: Protocol error");
}

TEST_F(Session, BackEndThatDiesInTheSetUp) {
  peer_.emplace([](PeerEnd& end) {
    for (int i = 0; i < 17; ++i) (void)end.receive();
  });
  wire_.emplace(peer_->front());
  const auto session = FuseSession::start(*wire_, kFeatures, {}, kGenerous);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().text,
            "GET_FEATURES: the other side has closed the connection: Connection reset by peer");
}

}  // namespace
}  // namespace vfsmend::daemon::test
