// SPDX-License-Identifier: Apache-2.0
// The only program of the guest: it mounts the share and does, one after the other, what the host
// asks for over the serial line. It is process 1 and never ends.
//
//   a request:   WORD ARGUMENT.. '\n'     none of them has a space in it
//   an answer:   "=" VALUE '\n'  or  "!" ERRNO '\n'
//
//   mount                   the share at /share
//   open NAME PATH r|w|rw   a file or directory stays open under NAME
//   read NAME OFFSET COUNT  past the caches of the guest
//   write NAME OFFSET TEXT  and make it reach the host
//   cd PATH                 later paths may be relative to it
//   size PATH               of a file
//   list PATH               the names in a directory, with commas
//   forget                  all caches that can be dropped
//   map NAME PATH           a file stays mapped, and not open, under NAME
//   peek NAME OFFSET COUNT  out of that memory
//   unlink PATH
//   start PATH              a copy of this program: it only waits; its process id
//   nodemap MOUNT           what /vfsmend nodemap writes
//
// Started with the argument "wait" it only waits.
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace {

using Words = std::vector<std::string>;

struct Answer {
  int error = 0;  // errno, or 0
  std::string value;
};

Answer done(std::string value = {}) {
  return {0, std::move(value)};
}

Answer failed() {
  return {errno, {}};
}

std::map<std::string, int>& open_files() {
  static std::map<std::string, int> files;
  return files;
}

Answer mount_share(const Words&) {
  return mount("fs", "/share", "virtiofs", 0, "") == 0 ? done() : failed();
}

Answer open_file(const Words& words) {
  const std::string& how = words.at(3);
  const int flags = how == "rw" ? O_RDWR : how == "w" ? O_WRONLY : O_RDONLY;
  const int fd = open(words.at(2).c_str(), flags | O_CLOEXEC);
  if (fd < 0) return failed();
  open_files()[words.at(1)] = fd;
  return done();
}

Answer read_file(const Words& words) {
  const int fd = open_files().at(words.at(1));
  const off_t offset = std::stol(words.at(2));
  std::string text(std::stoul(words.at(3)), '\0');
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  const ssize_t got = pread(fd, text.data(), text.size(), offset);
  if (got < 0) return failed();
  text.resize(static_cast<std::size_t>(got));
  return done(text);
}

Answer write_file(const Words& words) {
  const int fd = open_files().at(words.at(1));
  const std::string& text = words.at(3);
  const ssize_t put = pwrite(fd, text.data(), text.size(), std::stol(words.at(2)));
  return put < 0 || fsync(fd) != 0 ? failed() : done(std::to_string(put));
}

Answer change_directory(const Words& words) {
  return chdir(words.at(1).c_str()) == 0 ? done() : failed();
}

Answer size_of(const Words& words) {
  struct stat st = {};
  return stat(words.at(1).c_str(), &st) == 0 ? done(std::to_string(st.st_size)) : failed();
}

Answer list(const Words& words) {
  DIR* directory = opendir(words.at(1).c_str());
  if (directory == nullptr) return failed();
  Words names;
  errno = 0;
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  const int error = errno;
  closedir(directory);
  std::sort(names.begin(), names.end());
  std::string joined;
  for (const std::string& name : names) joined += (joined.empty() ? "" : ",") + name;
  return {error, joined};
}

Answer forget(const Words&) {
  const int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return failed();
  const bool good = write(fd, "3", 1) == 1;
  Answer answer = good ? done() : failed();
  close(fd);
  return answer;
}

std::map<std::string, const char*>& mapped_files() {
  static std::map<std::string, const char*> files;
  return files;
}

Answer map_file(const Words& words) {
  struct stat st = {};
  const int fd = open(words.at(2).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &st) != 0) return failed();
  void* const at = mmap(nullptr, static_cast<std::size_t>(st.st_size), PROT_READ, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return failed();
  close(fd);
  mapped_files()[words.at(1)] = static_cast<const char*>(at);
  return done();
}

Answer peek(const Words& words) {
  return done({mapped_files().at(words.at(1)) + std::stol(words.at(2)), std::stoul(words.at(3))});
}

Answer unlink_file(const Words& words) { return unlink(words.at(1).c_str()) == 0 ? done() : failed(); }

Answer start(const Words& words) {
  const pid_t pid = fork();
  if (pid < 0) return failed();
  if (pid == 0) {
    execl(words.at(1).c_str(), words.at(1).c_str(), "wait", nullptr);
    _exit(1);
  }
  return done(std::to_string(pid));
}

std::string all_of(const char* path) {
  std::string text(1 << 20, '\0');
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t got = read(fd, text.data(), text.size());
  close(fd);
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return text;
}

Answer node_map(const Words& words) {
  const pid_t pid = fork();
  if (pid < 0) return failed();
  if (pid == 0) {
    const int out = open("/nodemap.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    execl("/vfsmend", "vfsmend", "nodemap", words.at(1).c_str(), "-o", "/nodemap", nullptr);
    _exit(1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  std::string text = all_of(status == 0 ? "/nodemap" : "/nodemap.txt");
  std::replace(text.begin(), text.end(), '\n', ' ');
  return status == 0 ? done(text) : done("failed: " + text);
}

Answer perform(const Words& words) {
  static const std::map<std::string, std::function<Answer(const Words&)>> requests = {
      {"mount", mount_share},   {"open", open_file}, {"read", read_file}, {"write", write_file},
      {"cd", change_directory}, {"size", size_of},   {"list", list},      {"forget", forget},
      {"map", map_file},        {"peek", peek},      {"unlink", unlink_file},
      {"start", start},         {"nodemap", node_map}};
  const auto found = words.empty() ? requests.end() : requests.find(words.front());
  return found == requests.end() ? Answer{ENOSYS, {}} : found->second(words);
}

int serial_line() {
  const int fd = open("/dev/ttyS0", O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) _exit(1);
  termios raw = {};
  tcgetattr(fd, &raw);
  cfmakeraw(&raw);
  tcsetattr(fd, TCSANOW, &raw);
  return fd;
}

Words next_request(int line) {
  Words words(1);
  for (char c = 0; read(line, &c, 1) == 1 && c != '\n';) {
    if (c == ' ') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

void say(int line, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t put = write(line, text.data() + at, text.size() - at);
    if (put <= 0) return;
    at += static_cast<std::size_t>(put);
  }
}

}  // namespace

int main(int argc, char** argv) {
  // The kernel hands process 1 what it does not know of its own command line.
  while (argc > 1 && std::string(argv[1]) == "wait") pause();
  mount("dev", "/dev", "devtmpfs", 0, "");
  mount("proc", "/proc", "proc", 0, "");
  const int line = serial_line();
  say(line, "=ready\n");
  for (;;) {
    const Answer answer = perform(next_request(line));
    say(line,
        answer.error != 0 ? "!" + std::to_string(answer.error) + "\n" : "=" + answer.value + "\n");
  }
}
