// SPDX-License-Identifier: Apache-2.0
// A state in and out of back-ends that take it, refuse it, and die over it.
#include "daemon/migrate.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "fake_peer.h"
#include "support/descriptors.h"
#include "sys/shared_memory.h"

namespace vfsmend::daemon::test {
namespace {

constexpr std::uint64_t kAccepted = 0x100;  // no error, no descriptor
constexpr std::uint32_t kSave = 0;
constexpr std::uint32_t kLoad = 1;

const ByteVector kState = {1, 2, 3, 0, 255};

// A back-end as it should be, but for the two answers. Nothing: it ends instead of this answer.
struct Answers {
  std::optional<std::uint64_t> set = kAccepted;
  std::optional<std::uint64_t> check = 0;
};

struct Handed {
  Message set;
  std::string content;  // of the descriptor, when the state was asked for
};

void play(PeerEnd& end, const Answers& answers, Handed& handed, Bytes to_save) {
  handed.set = end.receive();
  if (!answers.set) return;
  end.send(reply(Request::kSetDeviceStateFd, *answers.set));
  if (end.receive().request != Request::kCheckDeviceState || handed.set.fds.size() != 1) return;
  const int fd = handed.set.fds[0].get();
  handed.content = sys::read_memory_file(fd, 1 << 20).value_or("?");
  if (!to_save.empty()) {
    EXPECT_EQ(::write(fd, to_save.data(), to_save.size()), static_cast<ssize_t>(to_save.size()));
  }
  if (answers.check) end.send(reply(Request::kCheckDeviceState, *answers.check));
}

std::string loaded(const Answers& answers) {
  Handed handed;
  FakePeer peer([&](PeerEnd& end) { play(end, answers, handed, {}); });
  VhostUser wire = peer.front();
  const auto answer = load_state(wire, kState, soon());
  if (!answer) return answer.error().text;
  return answer->loaded ? "loaded" : "failed";
}
std::string saved(const Answers& answers) {
  Handed handed;
  FakePeer peer([&](PeerEnd& end) { play(end, answers, handed, kState); });
  VhostUser wire = peer.front();
  const auto state = save_state(wire, soon());
  if (!state) return state.error().text;
  return *state == kState ? "saved" : "something else";
}

TEST(Greet, AsksBothQuestionsAndTellsTheFeatures) {
  FakePeer peer([](PeerEnd& end) {
    EXPECT_EQ(end.receive().request, Request::kGetFeatures);
    end.send(reply(Request::kGetFeatures, 0x174000000));
    EXPECT_EQ(end.receive().request, Request::kGetProtocolFeatures);
    end.send(reply(Request::kGetProtocolFeatures, 0x8a42b));
  });
  VhostUser wire = peer.front();
  EXPECT_EQ(greet(wire, soon()).value_or(0), 0x174000000U);
}

TEST(Greet, BackEndDiesInBetween) {
  FakePeer peer([](PeerEnd& end) {
    (void)end.receive();
    end.send(reply(Request::kGetFeatures, 0x174000000));
    (void)end.receive();
  });
  VhostUser wire = peer.front();
  const auto features = greet(wire, soon());
  ASSERT_FALSE(features);
  EXPECT_EQ(features.error().text, "GET_PROTOCOL_FEATURES: the other side has closed the connection: "
                                   "Connection reset by peer");
}

TEST(Greet, BackEndThatSaysNothing) {
  FakePeer peer([](PeerEnd& end) { end.await_hangup(); });
  VhostUser wire = peer.front();
  const auto begin = std::chrono::steady_clock::now();
  const auto features = greet(wire, short_time());
  ASSERT_FALSE(features);
  EXPECT_EQ(features.error().code, ErrorCode::kTimeout);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kGenerous / 2);
}

TEST(LoadState, HandsOverTheState) {
  Handed handed;
  const std::size_t before = vfsmend::test::open_descriptors();
  {
    FakePeer peer([&](PeerEnd& end) { play(end, {}, handed, {}); });
    VhostUser wire = peer.front();
    const auto answer = load_state(wire, kState, soon());
    ASSERT_TRUE(answer) << answer.error().text;
    EXPECT_TRUE(answer->loaded);
    EXPECT_GT(answer->took.count(), 0);
    peer.join();
  }
  EXPECT_EQ(handed.set.request, Request::kSetDeviceStateFd);
  EXPECT_EQ(handed.set.payload.size(), 8U);
  EXPECT_EQ(handed.set.word(0), kLoad);
  EXPECT_EQ(handed.set.word(1), 0U) << "the phase: stopped";
  EXPECT_EQ(handed.content, as_text(kState));
  handed.set.fds.clear();
  EXPECT_EQ(vfsmend::test::open_descriptors(), before);
}

TEST(LoadState, OfNoBytes) {
  Handed handed;
  FakePeer peer([&](PeerEnd& end) { play(end, {}, handed, {}); });
  VhostUser wire = peer.front();
  EXPECT_TRUE(load_state(wire, {}, soon()));
  peer.join();
  EXPECT_EQ(handed.content, "");
}

TEST(LoadState, RefusedByTheBackEnd) {
  // Bits 0 to 7 are an error, with or without "no descriptor" above them.
  for (const std::uint64_t refusal : {0x101, 0x1ff, 0x1, 0x80}) {
    Handed handed;
    FakePeer peer([&](PeerEnd& end) { play(end, {refusal, 0}, handed, {}); });
    VhostUser wire = peer.front();
    const auto answer = load_state(wire, kState, soon());
    ASSERT_FALSE(answer) << refusal;
    EXPECT_EQ(answer.error().code, ErrorCode::kUnsupported);
    EXPECT_EQ(answer.error().text, "SET_DEVICE_STATE_FD: the back-end takes no device state");
  }
}

TEST(LoadState, FailedIsAnAnswer) {
  EXPECT_EQ(loaded({kAccepted, 0}), "loaded");
  EXPECT_EQ(loaded({kAccepted, 1}), "failed");
  EXPECT_EQ(loaded({kAccepted, std::uint64_t{1} << 63}), "failed");
}

TEST(LoadState, BackEndDies) {
  const std::string gone = ": the other side has closed the connection: Connection reset by peer";
  EXPECT_EQ(loaded({std::nullopt, 0}), "SET_DEVICE_STATE_FD" + gone);
  EXPECT_EQ(loaded({kAccepted, std::nullopt}), "CHECK_DEVICE_STATE" + gone);
}

TEST(LoadState, BackEndThatHangsInTheLoad) {
  FakePeer peer([](PeerEnd& end) {
    (void)end.receive();
    end.send(reply(Request::kSetDeviceStateFd, kAccepted));
    (void)end.receive();
    end.await_hangup();
  });
  VhostUser wire = peer.front();
  const auto begin = std::chrono::steady_clock::now();
  const auto answer = load_state(wire, kState, short_time());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kTimeout);
  EXPECT_EQ(answer.error().text, "CHECK_DEVICE_STATE: no answer in time");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kGenerous / 2);
}

TEST(SaveState, IsWhatTheBackEndWrote) {
  Handed handed;
  FakePeer peer([&](PeerEnd& end) { play(end, {}, handed, kState); });
  VhostUser wire = peer.front();
  const auto state = save_state(wire, soon());
  ASSERT_TRUE(state) << state.error().text;
  EXPECT_EQ(*state, kState);
  peer.join();
  EXPECT_EQ(handed.set.word(0), kSave);
  EXPECT_EQ(handed.content, "") << "there was something in it before";
}

TEST(SaveState, RefusedOrFailed) {
  EXPECT_EQ(saved({0x101, 0}), "SET_DEVICE_STATE_FD: the back-end takes no device state");
  EXPECT_EQ(saved({kAccepted, 1}), "CHECK_DEVICE_STATE: the back-end failed to save its state");
  EXPECT_EQ(saved({kAccepted, 0}), "saved");
}

TEST(SaveState, BackEndDies) {
  const std::string gone = ": the other side has closed the connection: Connection reset by peer";
  EXPECT_EQ(saved({std::nullopt, 0}), "SET_DEVICE_STATE_FD" + gone);
  EXPECT_EQ(saved({kAccepted, std::nullopt}), "CHECK_DEVICE_STATE" + gone);
}

TEST(SaveState, MoreThanAnyStateHas) {
  FakePeer peer([](PeerEnd& end) {
    const Message set = end.receive();
    end.send(reply(Request::kSetDeviceStateFd, kAccepted));
    (void)end.receive();
    EXPECT_EQ(::ftruncate(set.fds.at(0).get(), (off_t{1} << 30) + 1), 0);  // a hole
    end.send(reply(Request::kCheckDeviceState, 0));
  });
  VhostUser wire = peer.front();
  const auto state = save_state(wire, soon());
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().code, ErrorCode::kLimit);
  EXPECT_EQ(state.error().text, "1073741825 bytes, more than the limit of 1073741824");
}

}  // namespace
}  // namespace vfsmend::daemon::test
