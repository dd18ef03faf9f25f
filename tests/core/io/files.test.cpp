#include "core/io/files.h"

#include "core/io/atomic_folder.h"
#include "tests/support/error_testing.h"
#include "tests/support/file_size_limit.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace wellspring::test {
namespace {

namespace fs = std::filesystem;

TEST(Files, ReadBackAsWritten) {
  const TemporaryFolder folder;
  const std::string text("line\n\0binary\xff", 13);
  write_file(folder / "a", text);
  EXPECT_EQ(read_text(folder / "a"), text);
  EXPECT_EQ(text_of(read_bytes(folder / "a")), text);
  write_file(folder / "a", "");
  EXPECT_EQ(read_text(folder / "a"), "");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a"});
}

TEST(Files, NameTheMissingPartOfAPath) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "cifar10/train");
  const std::string at = folder.path().string();
  EXPECT_EQ(message_of(ErrorKind::data, [&] { require_folder(folder / "cifar1O/train"); }),
            at + "/cifar1O/train: no such folder\n  '" + at +
                "' exists, but has no 'cifar1O'; did you mean 'cifar10'?");
  EXPECT_EQ(
      message_of(ErrorKind::data, [&] { read_text(folder / "cifar10/labels"); }),
      at + "/cifar10/labels: no such file\n  '" + at + "/cifar10' exists, but has no 'labels'");
  EXPECT_EQ(message_of(ErrorKind::data, [&] { read_bytes(folder / "cifar10"); }),
            at + "/cifar10: is a folder (expected a file)");
  spill(folder / "file", "x");
  EXPECT_EQ(message_of(ErrorKind::data, [&] { require_folder(folder / "file"); }),
            at + "/file: is not a folder (expected a folder)");
  EXPECT_NE(message_of(ErrorKind::data, [&] { require_file("no/such/relative"); }), "");
  require_folder(folder / "cifar10/train/");
  require_file(folder / "file");
}

TEST(InputFile, ReadsAtAnyOffsetAndRefusesReadsPastTheEnd) {
  const TemporaryFolder folder;
  spill(folder / "f", "0123456789");
  const InputFile file(folder / "f");
  EXPECT_EQ(file.size(), 10u);
  std::vector<std::byte> out(4);
  file.read(3, out);
  EXPECT_EQ(text_of(out), "3456");
  EXPECT_EQ(message_of(ErrorKind::data, [&] { file.read(8, out); }),
            (folder / "f").string() + ": the file is too short (2 bytes are missing at offset 10)");
}

TEST(OutputFile, CreatesAppendsAndReplaces) {
  const TemporaryFolder folder;
  {
    OutputFile file(folder / "f", OutputFile::Mode::create);
    file.write("hello world");
    file.patch(6, bytes_of("W"));
    EXPECT_EQ(file.written(), 11u);
    file.finish();
  }
  EXPECT_EQ(slurp(folder / "f"), "hello World");
  expect_parts(
      message_of(ErrorKind::runtime, [&] { OutputFile(folder / "f", OutputFile::Mode::create); }),
      {"cannot create (File exists)"});
  OutputFile(folder / "f", OutputFile::Mode::append).write("!");
  EXPECT_EQ(slurp(folder / "f"), "hello World!");
  OutputFile(folder / "f", OutputFile::Mode::replace).write("new");
  EXPECT_EQ(slurp(folder / "f"), "new");
  expect_parts(message_of(ErrorKind::runtime,
                          [&] { OutputFile(folder / "no/f", OutputFile::Mode::replace); }),
               {"no/f: cannot create (No such file or directory)"});
}

TEST(OutputFile, ReportsAFullDisk) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  OutputFile file("/dev/full", OutputFile::Mode::replace);
  EXPECT_EQ(message_of(ErrorKind::runtime, [&] { file.write("x"); }),
            "/dev/full: cannot write (No space left on device)\n"
            "  free some space or use another folder");
}

TEST(OutputFile, ExplainsALackOfFileHandles) {
#ifdef WELLSPRING_SANITIZED
  GTEST_SKIP() << "sanitizers need file handles";
#endif
  const TemporaryFolder folder;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::string message =
      message_of(ErrorKind::runtime, [&] { OutputFile(folder / "f", OutputFile::Mode::create); });
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  expect_parts(message, {"Too many open files", "ulimit -n"});
}

TEST(OutputFile, RefusesAShortWrite) {
  const TemporaryFolder folder;
  OutputFile file(folder / "f", OutputFile::Mode::create);
  const FileSizeLimit limit(4096);
  const std::string block(3000, 'x');
  file.write(block);
  // The kernel writes only 1096 bytes of this block.
  expect_parts(message_of(ErrorKind::runtime, [&] { file.write(block); }), {"File too large"});
}

TEST(AtomicFile, HoldsTheOldOrTheNewText) {
  const TemporaryFolder folder;
  spill(folder / "model", "old");
  {
    AtomicFile file(folder / "model");
    file.write("half of the ne");
    EXPECT_EQ(slurp(folder / "model"), "old");
  }
  EXPECT_EQ(slurp(folder / "model"), "old");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"model"});
  {
    AtomicFile file(folder / "model");
    file.write("new");
    file.commit();
  }
  EXPECT_EQ(slurp(folder / "model"), "new");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"model"});
}

TEST(AtomicFile, KeepsTheOldFileOnAFullDisk) {
  const TemporaryFolder folder;
  spill(folder / "model", "old");
  {
    const FileSizeLimit limit(4096);
    expect_parts(message_of(ErrorKind::runtime,
                            [&] { write_file(folder / "model", std::string(10000, 'x')); }),
                 {"cannot write (File too large)"});
  }
  EXPECT_EQ(slurp(folder / "model"), "old");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"model"});
}

TEST(AtomicFile, RefusesToReplaceAFolder) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "model");
  expect_parts(message_of(ErrorKind::runtime, [&] { write_file(folder / "model", "x"); }),
               {"model: cannot replace (Is a directory)"});
  EXPECT_EQ(folder.names(), std::vector<std::string>{"model"});
}

TEST(AtomicFolder, AppearsComplete) {
  const TemporaryFolder folder;
  {
    AtomicFolder step(folder / "step-1");
    OutputFile file = step.create("model");
    file.write("weights");
    file.finish();
    EXPECT_FALSE(fs::exists(folder / "step-1"));
    step.commit();
  }
  EXPECT_EQ(folder.names(), std::vector<std::string>{"step-1"});
  EXPECT_EQ(slurp(folder / "step-1/model"), "weights");
}

TEST(AtomicFolder, ReplacesTheOldFolderAtomically) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "step-1");
  spill(folder / "step-1/old", "old");
  {
    AtomicFolder step(folder / "step-1/");  // a trailing slash names the same folder
    step.create("new").finish();
  }
  EXPECT_TRUE(fs::exists(folder / "step-1/old"));
  EXPECT_EQ(folder.names(), std::vector<std::string>{"step-1"});
  {
    AtomicFolder step(folder / "step-1/");
    EXPECT_EQ(step.temporary().parent_path(), folder.path());
    step.create("new").finish();
    step.commit();
  }
  EXPECT_EQ(folder.names(), std::vector<std::string>{"step-1"});
  EXPECT_FALSE(fs::exists(folder / "step-1/old"));
  EXPECT_TRUE(fs::exists(folder / "step-1/new"));
}

TEST(AtomicFolder, ReplacesInStepsWithoutAtomicExchange) {
  const TemporaryFolder folder;
  // A killed run has left step-1.old.
  for (const char* name : {"new", "step-1", "step-1.old"}) {
    fs::create_directory(folder / name);
    spill(folder / name / "name", name);
  }
  detail::replace_folder_in_steps(folder / "new", folder / "step-1");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"step-1"});
  EXPECT_EQ(slurp(folder / "step-1/name"), "new");
  // After a failure, the old folder must still be in place.
  expect_parts(
      message_of(ErrorKind::runtime,
                 [&] { detail::replace_folder_in_steps(folder / "absent", folder / "step-1"); }),
      {"cannot rename the new folder (No such file or directory)"});
  EXPECT_EQ(slurp(folder / "step-1/name"), "new");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"step-1"});
}

TEST(RemoveStaleTemporaries, RemovesTheLeftoversOfAKilledProcess) {
  const TemporaryFolder folder;
  spill(folder / "model", "old");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {  // dies while writing; no destructors run
    AtomicFile file(folder / "model");
    AtomicFolder step(folder / "step-1");
    file.write("half");
    step.create("model").write("half");
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  // The folder remains, and so does the file unless the file system supports O_TMPFILE.
  const bool unnamed = OutputFile::unnamed(folder / "model").has_value();
  EXPECT_EQ(remove_stale_temporaries(folder.path()), unnamed ? 1 : 2);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"model"});
  EXPECT_EQ(slurp(folder / "model"), "old");
  EXPECT_EQ(remove_stale_temporaries(folder / "absent"), 0);
}

TEST(RemoveAbandonedFolders, RemovesOnlyFoldersOfDeadProcesses) {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (const char* file : {"event1.csv", "notes.txt"}) {
      auto* const events = new AtomicFolder(folder / "events");
      events->create(file).write("half");
    }
    new AtomicFolder(folder / "other");
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(folder.names().size(), 3u);
  AtomicFolder living(folder / "events");
  living.create("event1.csv").write("half");
  make_folders(folder / "elsewhere");
  fs::create_directory_symlink("elsewhere", folder / ".tmp-events-1-1");
  make_folders(folder / ".tmp-events-mine");
  make_folders(folder / ".tmp-events-1-2/folder.csv");
  const std::vector<std::string> before = folder.names();

  const auto ours = [](const std::string& name) { return name.ends_with(".csv"); };
  EXPECT_EQ(remove_abandoned_folders(folder / "events/", ours), 1);
  const std::string own = ".tmp-events-" + std::to_string(child) + "-";
  for (const std::string& name : before) {
    const bool abandoned = name.starts_with(own) && !fs::exists(folder / name / "notes.txt");
    EXPECT_EQ(fs::exists(folder / name), !abandoned) << name;
  }
  EXPECT_EQ(remove_abandoned_folders(folder / "events", ours), 0);
  EXPECT_EQ(remove_abandoned_folders(folder / "absent/events", ours), 0);
  living.commit();
  EXPECT_EQ(slurp(folder / "events/event1.csv"), "half");
}

TEST(RemoveFolder, RemovesItsContents) {
  const TemporaryFolder folder;
  make_folders(folder / "step-1/more");
  spill(folder / "step-1/more/model", "weights");
  remove_folder(folder / "step-1");
  EXPECT_EQ(folder.names(), std::vector<std::string>{});
  expect_parts(message_of(ErrorKind::runtime, [&] { remove_folder(folder / "step-1"); }),
               {"step-1: cannot remove (No such file or directory)"});
}

TEST(AtomicFile, HasNoNameBeforeTheCommit) {
  const TemporaryFolder folder;
  if (!OutputFile::unnamed(folder / "model"))
    GTEST_SKIP() << "needs O_TMPFILE in " << folder.path();
  for (const char* text : {"first", "second"}) {  // a new file, then a replacement
    const std::vector<std::string> before = folder.names();
    AtomicFile file(folder / "model");
    file.write(text);
    EXPECT_EQ(folder.names(), before);
    file.commit();
    EXPECT_EQ(folder.names(), std::vector<std::string>{"model"});
    EXPECT_EQ(slurp(folder / "model"), text);
  }
}

TEST(AtomicFile, WritesToTheTargetOfALink) {
  const TemporaryFolder folder;
  make_folders(folder / "disk");
  spill(folder / "disk/model", "old");
  fs::create_symlink("disk/model", folder / "link");
  fs::create_symlink(fs::absolute(folder / "link"), folder / "further");
  fs::create_symlink("disk/new", folder / "dangling");
  write_file(folder / "further", "text");
  require_creatable(folder / "dangling");
  write_file(folder / "dangling", "first");
  for (const char* name : {"link", "further", "dangling"})
    EXPECT_TRUE(fs::is_symlink(folder / name)) << name;
  EXPECT_EQ(slurp(folder / "disk/model"), "text");
  EXPECT_EQ(slurp(folder / "disk/new"), "first");

  fs::create_symlink("circle", folder / "circle");
  fs::create_symlink("nowhere/model", folder / "lost");
  EXPECT_EQ(::mkfifo((folder / "pipe").c_str(), 0666), 0);
  fs::create_symlink("pipe", folder / "to pipe");
  const auto refused = [&](const char* name) {
    return message_of(ErrorKind::runtime, [&] { write_file(folder / name, "text"); });
  };
  expect_parts(refused("circle"), {"circle: cannot create", "Too many levels of symbolic links"});
  expect_parts(refused("lost"), {"nowhere/model: cannot create", "nowhere does not exist"});
  expect_parts(refused("to pipe"), {"to pipe: is a named pipe", "give the name of a file"});
}

TEST(AtomicFolder, WritesToTheTargetOfALink) {
  const TemporaryFolder folder;
  make_folders(folder / "disk/events");
  spill(folder / "disk/events/old.csv", "old");
  fs::create_directory_symlink("disk/events/", folder / "events");
  {
    AtomicFolder events(folder / "events/");
    events.create("new.csv").write("new");
    EXPECT_EQ(events.temporary().parent_path(), folder / "disk");
    events.commit();
  }
  EXPECT_TRUE(fs::is_symlink(folder / "events"));
  EXPECT_EQ(slurp(folder / "disk/events/new.csv"), "new");
  EXPECT_FALSE(fs::exists(folder / "events/old.csv"));
}

TEST(FolderLock, RefusesASecondHolderAndNamesTheFirst) {
  const TemporaryFolder folder;
  {
    const FolderLock lock(folder / "runs/a", "go elsewhere");
    EXPECT_TRUE(lock.held());
    const std::string message =
        message_of(ErrorKind::runtime, [&] { FolderLock(folder / "runs/a", "go elsewhere"); });
    expect_parts(message, {(folder / "runs/a").string() + ": in use by process " +
                               std::to_string(::getpid()) + " on ",
                           "\n  go elsewhere"});
    EXPECT_TRUE(FolderLock(folder / "runs/b", "").held()) << "locks must be per folder";
  }
  EXPECT_TRUE(FolderLock(folder / "runs/a", "").held()) << "the lock must have been released";
}

TEST(FolderLock, IsReleasedWhenItsProcessIsKilled) {
  const TemporaryFolder folder;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const FolderLock lock(folder.path(), "");
    if (::write(ready[1], "x", 1) == 1) ::pause();
    ::_exit(1);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  expect_parts(message_of(ErrorKind::runtime, [&] { FolderLock(folder.path(), ""); }),
               {"in use by process " + std::to_string(child)});
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(FolderLock(folder.path(), "").held());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(MakeFolders, MakesParents) {
  const TemporaryFolder folder;
  make_folders(folder / "a/b/c");
  make_folders(folder / "a/b/c");
  EXPECT_TRUE(fs::is_directory(folder / "a/b/c"));
  spill(folder / "file", "x");
  expect_parts(message_of(ErrorKind::runtime, [&] { make_folders(folder / "file/b"); }),
               {"cannot create the folder (Not a directory)"});
}

}  // namespace
}  // namespace wellspring::test
