// SPDX-License-Identifier: Apache-2.0
#include "vfsmend/looking.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "sys/bounded_worker.h"
#include "sys/read_file.h"

namespace vfsmend {
namespace {

// "<exit> <bytes of out> <bytes of data>\n<out><data><err>"
std::string pack(const Rendered& rendered) {
  return fmt::format("{} {} {}\n", rendered.exit, rendered.out.size(), rendered.data.size()) +
         rendered.out + rendered.data + rendered.err;
}

std::optional<Rendered> unpack(std::string_view bytes) {
  Rendered rendered;
  std::size_t size = 0;
  std::size_t data_size = 0;
  const char* const end = bytes.data() + bytes.size();
  const char* at = bytes.data();
  // Each number is followed by one byte that is none of it.
  const auto number = [&](auto& value) {
    const auto [after, bad] = std::from_chars(at, end, value);
    at = after + 1;
    return bad == std::errc() && after != end;
  };
  if (!number(rendered.exit) || !number(size) || !number(data_size)) return std::nullopt;
  const std::string_view rest(at, static_cast<std::size_t>(end - at));
  if (rest.size() < size || rest.size() - size < data_size) return std::nullopt;
  rendered.out = rest.substr(0, size);
  rendered.data = rest.substr(size, data_size);
  rendered.err = rest.substr(size + data_size);
  return rendered;
}

std::string where(const sys::WorkerResult& result) {
  return result.last_stage.empty() ? "at its start" : "at: " + result.last_stage;
}

std::string broken_text(const sys::WorkerResult& result) {
  const std::string how =
      result.signal != 0 ? fmt::format("died of signal {}", result.signal) : "gave no answer";
  return fmt::format("the part of vfsmend that looks at files {}, {}. That is a bug of vfsmend or "
                     "a lack of memory, and says nothing about the snapshot",
                     how, where(result));
}

// By the object and not by its name. Done by the worker, since any look may hang; but names that are equal tell
// it before, for the answer of one who hangs is written there as well.
std::optional<Rendered> refusal(const RunSettings& run, bool by_name) {
  if (run.output.empty()) return std::nullopt;
  const auto refused = [&](const std::string& input) {
    return Rendered{exit_status::kUsage, "",
                    message(run.trace_id, fmt::format("--output: {} is what is read: name another file", input))};
  };
  if (by_name) {
    const auto same = std::ranges::find(run.inputs, run.output);
    return same == run.inputs.end() ? std::nullopt : std::optional(refused(*same));
  }
  const auto output = sys::locate(sys::kernel(), AT_FDCWD, run.output);
  if (!output) return std::nullopt;
  for (const std::string& input : run.inputs) {
    if (input.empty()) continue;
    const auto found = sys::locate(sys::kernel(), AT_FDCWD, input);
    if (found && found->stamp.device == output->stamp.device && found->stamp.inode == output->stamp.inode) {
      return refused(input);
    }
  }
  return std::nullopt;
}

}  // namespace

Rendered look_bounded(const RunSettings& run,
                      const std::function<Rendered(const Progress&)>& look,
                      const std::function<Rendered(Unable, std::string)>& unable) {
  if (auto refused = refusal(run, true)) return *std::move(refused);
  const Result<sys::WorkerResult> result =
      sys::run_bounded(run.deadline, [&](sys::WorkerChannel& channel) {
        if (const auto refused = refusal(run, false)) return channel.send(pack(*refused));
        channel.send(pack(look([&channel](std::string_view stage) { channel.stage(stage); })));
      });
  using End = sys::WorkerResult::End;
  if (!result) return unable(Unable::kBroken, "no worker could be run: " + result.error().text);
  if (result->end == End::kDeadline) {
    return unable(Unable::kDeadline, fmt::format("no answer within {} ms; the wait was {}",
                                                 run.deadline.count(), where(*result)));
  }
  if (result->end == End::kCancelled) {
    return unable(Unable::kCancelled, "cancelled by a signal, " + where(*result));
  }
  std::optional<Rendered> rendered;
  if (result->end == End::kDone) rendered = unpack(result->output);
  return rendered ? *std::move(rendered) : unable(Unable::kBroken, broken_text(*result));
}

}  // namespace vfsmend
