// SPDX-License-Identifier: Apache-2.0
#include "plan.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <sstream>

namespace vfsmend::differential {
namespace {

constexpr std::array<std::string_view, 27> kNames = {
    "mkdir",  "file",   "hardlink", "symlink",  "fifo",    "socket",  "device",      "bind",
    "unmount", "readonly", "remove", "rename",  "exchange", "replace", "chmod",      "immutable",
    "lookup", "forget", "open",     "opendir",  "create",  "guest-unlink", "guest-rename", "write",
    "saved",  "damage", "load-now"};
static_assert(kNames.size() == static_cast<std::size_t>(Kind::kLoad) + 1);

std::string escaped(std::string_view text) {
  if (text.empty()) return "-";
  if (text == "-") return "%2d";
  std::string out;
  for (const char c : text) {
    const bool plain = c > ' ' && c < 0x7f && c != '%';
    out += plain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
  }
  return out;
}

std::optional<std::string> unescaped(std::string_view text) {
  if (text == "-") return std::string();
  std::string out;
  while (!text.empty()) {
    if (text[0] != '%') {
      out += text[0];
      text.remove_prefix(1);
      continue;
    }
    unsigned byte = 0;
    if (text.size() < 3) return std::nullopt;
    const auto [end, bad] = std::from_chars(text.data() + 1, text.data() + 3, byte, 16);
    if (bad != std::errc() || end != text.data() + 3) return std::nullopt;
    out += static_cast<char>(byte);
    text.remove_prefix(3);
  }
  return out;
}

std::optional<Step> step_from(std::string_view kind, std::istringstream& rest) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] != kind) continue;
    std::string a;
    std::string b;
    Step step{static_cast<Kind>(i), "", "", 0, 0};
    if (!(rest >> a >> b >> step.n >> step.m)) return std::nullopt;
    const auto first = unescaped(a);
    const auto second = unescaped(b);
    if (!first || !second) return std::nullopt;
    step.a = *first;
    step.b = *second;
    return step;
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(Kind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::string to_text(const Plan& plan) {
  std::string out = fmt::format("share {}\nsave", plan.filesystem);
  for (const std::string& word : plan.save_words) out += " " + escaped(word);
  out += "\nload";
  for (const std::string& word : plan.load_words) out += " " + escaped(word);
  for (const Step& step : plan.steps) {
    out += fmt::format("\n{} {} {} {} {}", name_of(step.kind), escaped(step.a), escaped(step.b),
                       step.n, step.m);
  }
  return out + "\n";
}

std::optional<Plan> from_text(std::string_view text) {
  Plan plan;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string first;
    words >> first;
    if (first == "share") {
      if (!(words >> plan.filesystem)) return std::nullopt;
    } else if (first == "save" || first == "load") {
      auto& into = first == "save" ? plan.save_words : plan.load_words;
      for (std::string word; words >> word;) {
        const auto plain = unescaped(word);
        if (!plain) return std::nullopt;
        into.push_back(*plain);
      }
    } else if (auto step = step_from(first, words)) {
      plan.steps.push_back(*std::move(step));
    } else {
      return std::nullopt;
    }
  }
  return plan;
}

}  // namespace vfsmend::differential
