// SPDX-License-Identifier: Apache-2.0
// In two passes: first all names are learnt, from the members that hold paths and from the places
// of the loaders' texts where a path stands; then every text is gone through. A name can hold
// spaces and quotes, so that a text alone does not tell where one ends.
#include "report/redact.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>

#include "base/text.h"

namespace vfsmend {
namespace {

// FNV-1a, then the finalizer of MurmurHash3: names that differ in one letter share no digits.
std::string token(std::string_view component) {
  std::uint64_t h = 0xcbf29ce484222325U;
  for (const char c : component) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  h = (h ^ h >> 33) * 0xff51afd7ed558ccdU;
  h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53U;
  return fmt::format("~{:010x}", (h ^ h >> 33) >> 24);
}

bool is_plain(std::string_view component) {
  return component.empty() || component == "." || component == "..";
}

bool in_word(char c) {
  const auto u = static_cast<unsigned char>(c);
  return u >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         c == '_' || c == '-' || c == '.';
}

class Redactor {
 public:
  void learn_path(std::string_view path);
  void learn_text(std::string_view text);
  [[nodiscard]] std::string apply(std::string_view text) const;

 private:
  void learn(std::string_view as_printed, const std::string& as_token);
  [[nodiscard]] std::size_t name_at(std::string_view text, std::size_t at) const;

  std::map<std::string, std::string, std::less<>> tokens_;  // name -> token
  std::set<std::string, std::less<>> bare_;  // names that are a whole path: found without a slash
  std::set<std::size_t, std::greater<>> lengths_;
};

void Redactor::learn(std::string_view as_printed, const std::string& as_token) {
  tokens_.emplace(as_printed, as_token);
  lengths_.insert(as_printed.size());
}

void Redactor::learn_path(std::string_view path) {
  const bool bare = path.find('/') == std::string_view::npos;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view component = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (is_plain(component)) continue;
    // As it is, as Rust's Debug form escapes it, and as texts show what is not UTF-8.
    const std::string escaped = rust_debug(component);
    for (const std::string& form : {std::string(component), utf8_lossy(component),
                                    escaped.substr(1, escaped.size() - 2)}) {
      learn(form, token(component));
      if (bare) bare_.insert(form);
    }
  }
}

// "Opening <path>: <text> (os error 2)", "Opening inode 4 (<path>) as handle 2",
// "Failed to openat file \"<path>\"", "<path>: nul byte found in provided data".
void Redactor::learn_text(std::string_view text) {
  struct Place {
    std::string_view before, after;
  };
  constexpr Place kPlaces[] = {{"Opening ", " (os error"},
                               {"Opening ", ": nul byte found"},
                               {" (", ") as handle "},
                               {"the map's path ", ": not used: "},
                               {"Failed to openat file \"", "\""}};
  for (const Place& place : kPlaces) {
    const std::size_t begin = text.find(place.before);
    if (begin == std::string_view::npos) continue;
    const std::size_t from = begin + place.before.size();
    const std::size_t end = text.find(place.after, from);
    if (end == std::string_view::npos) continue;
    std::string_view path = text.substr(from, end - from);
    // The system's text stands between the path and the number.
    if (place.after == " (os error") path = path.substr(0, path.rfind(": "));
    if (path.find('/') != std::string_view::npos) learn_path(path);
  }
}

// Length of the longest known name that stands at `at` as a name: between slashes, or as a word
// that is known to be a path by itself. 0: none.
std::size_t Redactor::name_at(std::string_view text, std::size_t at) const {
  if (at > 0 && in_word(text[at - 1])) return 0;
  for (const std::size_t length : lengths_) {
    if (at + length > text.size()) continue;
    const std::string_view name = text.substr(at, length);
    const std::size_t end = at + length;
    if (end < text.size() && in_word(text[end]) && in_word(name.back())) continue;
    if (!tokens_.contains(name)) continue;
    const bool slashes = (at > 0 && text[at - 1] == '/') || (end < text.size() && text[end] == '/');
    if (slashes || bare_.contains(name)) return length;
  }
  return 0;
}

std::string Redactor::apply(std::string_view text) const {
  std::string out;
  bool absolute = false;  // behind a slash that begins a path
  for (std::size_t at = 0; at < text.size();) {
    const char before = at > 0 ? text[at - 1] : ' ';
    if (const std::size_t length = name_at(text, at); length != 0) {
      out += tokens_.find(text.substr(at, length))->second;
      at += length;
      continue;
    }
    if (text[at] == '/') {
      if (!in_word(before) && before != '/') absolute = true;
      out += text[at++];
      continue;
    }
    const std::size_t end = std::min(text.find_first_of("/ \t\n\"',;:()", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (absolute && before == '/' && !is_plain(word)) {
      out += token(word);
      at = end;
      continue;
    }
    if (before != '/') absolute = false;
    out += text[at++];
  }
  return out;
}

// A fact can be a path and nothing else; then all of it is one.
template <typename F>
void each_fact(Finding& finding, F use) {
  for (Facts* facts : {&finding.before, &finding.after}) {
    for (auto& [key, value] : *facts) use(value);
  }
}

template <typename F>
void each_text(Finding& finding, F use) {
  use(finding.message);
  use(finding.guest_sees);
  if (!finding.repair) return;
  use(finding.repair->action);
  for (std::string& casualty : finding.repair->casualties) use(casualty);
}

template <typename F>
void each_text(Report& report, F use) {
  use(report.reason);
  for (std::string& text : report.assumptions) use(text);
  if (report.repair) {
    for (std::string& text : report.repair->left) use(text);
    use(report.repair->use);
    for (RepairStep& step : report.repair->steps) {
      for (std::string* text : {&step.action, &step.reason, &step.precondition, &step.inverse}) use(*text);
      for (std::string& lost : step.casualties) use(lost);
    }
  }
  for (Finding& finding : report.findings) each_text(finding, use);
  for (DeviceReport& device : report.devices) {
    if (device.restore.error) use(*device.restore.error);
    if (device.restore.wrapped) use(*device.restore.wrapped);
    if (device.rehearsal && device.rehearsal->error) use(*device.rehearsal->error);
    if (device.rehearsal) use(device.rehearsal->reason);
    for (Elsewhere& other : device.elsewhere) {
      if (other.error) use(*other.error);
    }
    for (Finding& finding : device.findings) each_text(finding, use);
  }
}

template <typename F>
void each_path(Report& report, F use) {
  use(report.snapshot_path);
  if (report.manifest) use(report.manifest->path);
  if (report.repair) {
    use(report.repair->journal);
    use(report.repair->kept);
    use(report.repair->extracted_from);
    for (RepairStep& step : report.repair->steps) use(step.path);
  }
  for (Finding& finding : report.findings) use(finding.path);
  for (DeviceReport& device : report.devices) {
    use(device.shared_dir);
    for (Finding& finding : device.findings) use(finding.path);
  }
}

template <typename F>
void each_fact(Report& report, F use) {
  for (Finding& finding : report.findings) each_fact(finding, use);
  for (DeviceReport& device : report.devices) {
    for (Finding& finding : device.findings) each_fact(finding, use);
  }
}

}  // namespace

std::string redact_path(std::string_view path) {
  std::string out;
  while (true) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view component = path.substr(0, end);
    out += is_plain(component) ? std::string(component) : token(component);
    if (end == path.size()) return out;
    out += '/';
    path.remove_prefix(end + 1);
  }
}

std::string redact_text(std::string_view text, std::string_view path) {
  Redactor redactor;
  redactor.learn_path(path);
  redactor.learn_text(text);
  return redactor.apply(text);
}

void redact_paths(Report& report) {
  Redactor redactor;
  each_path(report, [&](const std::string& path) { redactor.learn_path(path); });
  each_text(report, [&](const std::string& text) { redactor.learn_text(text); });
  each_fact(report, [&](const std::string& value) {
    if (value.starts_with('/')) redactor.learn_path(value);
  });
  each_text(report, [&](std::string& text) { text = redactor.apply(text); });
  each_fact(report, [&](std::string& value) {
    value = value.starts_with('/') ? redact_path(value) : redactor.apply(value);
  });
  each_path(report, [](std::string& path) { path = redact_path(path); });
}

}  // namespace vfsmend
