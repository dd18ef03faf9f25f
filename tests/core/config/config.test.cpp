#include "core/config/config.h"

#include "tests/support/error_testing.h"
#include "tests/support/temporary_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace wellspring::test {
namespace {

struct Optimizer {
  double lr = 0.1;
  int steps = 10;
  std::string name = "sgd";
  std::vector<double> betas = {0.9, 0.999};
};

const ParamTable<Optimizer>& optimizer_table() {
  static const auto kTable = ParamTable<Optimizer>("optimizer")
                                 .real("lr", &Optimizer::lr, {0, 10}, "", "learning rate")
                                 .integer("steps", &Optimizer::steps, {1, 100}, "", "how many")
                                 .text("name", &Optimizer::name, "which")
                                 .real_list("betas", &Optimizer::betas, {0, 1}, "", "decay rates");
  return kTable;
}

constexpr const char* kText = R"(# a comment
optimizer:
  lr: 0.5
  betas: [0.8, 0.9]
data:
  sources:
    - {name: shapes, weight: 1}
    - name: real
      weight: 2
      options: {size: 32, limits: [1, 2]}
)";

ConfigDocument parse(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return ConfigDocument::parse(text, "train.yaml", overrides);
}

Optimizer read_optimizer(const ConfigDocument& document) {
  const Optimizer values = document.root().section("optimizer").read(optimizer_table());
  document.finish();
  return values;
}

std::string refusal(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return message_of(ErrorKind::config, [&] { read_optimizer(parse(text, overrides)); });
}

TEST(ConfigDocument, ReadsSectionsListsAndTables) {
  const auto document = parse(kText);
  const ConfigNode root = document.root();
  const Optimizer optimizer = root.section("optimizer").read(optimizer_table());
  EXPECT_EQ(optimizer.lr, 0.5);
  EXPECT_EQ(optimizer.steps, 10);
  EXPECT_EQ(optimizer.betas, (std::vector<double>{0.8, 0.9}));
  const auto sources = root.section("data").list("sources");
  ASSERT_EQ(sources.size(), 2u);
  EXPECT_EQ(sources[0].required_scalar("name", "").value, "shapes");
  EXPECT_EQ(sources[0].scalar("weight")->value, "1");
  EXPECT_FALSE(sources[0].scalar("absent"));
  EXPECT_FALSE(sources[0].has("options"));
  EXPECT_EQ(sources[1].location().to_string(), "train.yaml:8:7");
  const ParamSetting name = sources[1].required_scalar("name", "");
  EXPECT_EQ(name.place.to_string(), "train.yaml:8:13");
  sources[1].scalar("weight");
  const auto options = sources[1].section("options").settings();
  ASSERT_EQ(options.size(), 2u);
  EXPECT_EQ(options[0].name, "size");
  EXPECT_EQ(options[0].value, "32");
  EXPECT_EQ(options[0].place.to_string(), "train.yaml:10:23");
  EXPECT_EQ(options[1].value, "[1, 2]");
  document.finish();
}

TEST(ConfigDocument, GivesAbsentSectionsTheirDefaults) {
  for (const char* text : {"", "# nothing\n", "optimizer:\n", "optimizer: {}\n", "{}"}) {
    EXPECT_EQ(read_optimizer(parse(text)).lr, 0.1) << text;
  }
}

TEST(ConfigDocument, RefusesUnknownKeys) {
  EXPECT_EQ(refusal("optimizer:\n  lr_: 1\n"),
            "train.yaml:2:3: unknown key 'lr_' in optimizer\n"
            "  did you mean 'lr'? known: lr, steps, name, betas");
  EXPECT_EQ(refusal("optimiser:\n  lr: 1\n"),
            "train.yaml:1:1: unknown key 'optimiser' in the configuration\n"
            "  did you mean 'optimizer'? known: optimizer");
}

TEST(ConfigDocument, RefusesUnknownKeysInLists) {
  const auto document = parse("sources:\n  - {name: a}\n  - {name: b, weigth: 1}\n");
  for (const ConfigNode& source : document.root().list("sources")) {
    source.scalar("name");
    source.scalar("weight");
  }
  EXPECT_EQ(message_of(ErrorKind::config, [&] { document.finish(); }),
            "train.yaml:3:15: unknown key 'weigth' in sources[1]\n"
            "  did you mean 'weight'? known: name, weight");
}

TEST(ConfigDocument, RefusesDuplicateKeys) {
  EXPECT_EQ(refusal("optimizer:\n  lr: 1\n  steps: 2\n  lr: 3\n"),
            "train.yaml:4:3: duplicate key 'lr' (first given at train.yaml:2:3)\n"
            "  keep one of the two");
  expect_parts(refusal("optimizer: {lr: 1}\noptimizer: {lr: 1}\n"), {"train.yaml:2:1: duplicate"});
}

TEST(ConfigDocument, RefusesMistypedValues) {
  EXPECT_EQ(refusal("optimizer:\n  steps: abc\n"),
            "train.yaml:2:10: 'steps' must be an integer, got 'abc' (how many)");
  EXPECT_EQ(refusal("optimizer:\n  steps: 0\n"),
            "train.yaml:2:10: steps = 0 is out of range [1, 100] (how many)");
  EXPECT_EQ(refusal("optimizer:\n  steps:\n"),
            "train.yaml:2:3: 'steps' must be an integer, got nothing (how many)");
  EXPECT_EQ(refusal("optimizer:\n  steps: {a: 1}\n"),
            "train.yaml:2:10: 'steps' must be an integer, got a section (how many)");
  EXPECT_EQ(refusal("optimizer:\n  steps: [1, 2]\n"),
            "train.yaml:2:10: 'steps' must be an integer, got a list (how many)");
  expect_parts(refusal("optimizer:\n  betas: [0.1, [0.2]]\n"),
               {"betas[1]: must be a value, got a list"});
}

TEST(ConfigDocument, RefusesTheWrongKindOfNode) {
  EXPECT_EQ(refusal("optimizer: 3\n"),
            "train.yaml:1:12: optimizer: must be a section, got a value");
  EXPECT_EQ(refusal("optimizer: [1]\n"),
            "train.yaml:1:12: optimizer: must be a section, got a list");
  EXPECT_EQ(refusal("- a\n"),
            "train.yaml: not a configuration (it is a list, not a map of sections and keys)");
  const auto document = parse("a: 1\nb: {c: 1}\n");
  EXPECT_EQ(message_of(ErrorKind::config, [&] { document.root().list("a"); }),
            "train.yaml:1:4: a: must be a list, got a value");
  EXPECT_EQ(message_of(ErrorKind::config, [&] { document.root().list("b"); }),
            "train.yaml:2:4: b: must be a list, got a section");
  EXPECT_EQ(message_of(ErrorKind::config, [&] { document.root().required_scalar("d", "why"); }),
            "train.yaml:1:1: 'd' is missing in the configuration (why)");
}

TEST(ConfigDocument, ReportsMissingRowsByTheirPath) {
  struct Required {
    int size = 0;
  };
  const auto required =
      ParamTable<Required>("x").integer("size", &Required::size, {1, 9}, "", "side").required();
  const auto document = parse("a: {b: {}}\n");
  EXPECT_EQ(message_of(ErrorKind::config,
                       [&] { document.root().section("a").section("b").read(required); }),
            "train.yaml:1:8: 'size' is missing in a.b (side)");
  EXPECT_EQ(message_of(ErrorKind::config,
                       [&] { document.root().section("a").section("c").read(required); }),
            "train.yaml:1:4: the section 'a.c' is missing (its key 'size' is required: side)\n"
            "  add a.c: {size: ...}");
}

TEST(ConfigDocument, SuggestsTheMisspeltKey) {
  const auto document = parse("name_: x\nother: y\n");
  EXPECT_EQ(message_of(ErrorKind::config, [&] { document.root().required_scalar("name", "who"); }),
            "train.yaml:1:1: 'name' is missing in the configuration (who)\n"
            "  rename 'name_' if you meant that key");
}

TEST(ConfigDocument, RefusesBrokenYaml) {
  const std::string message = refusal("optimizer:\n  lr: [1, 2\n");
  EXPECT_TRUE(message.starts_with("train.yaml:3:")) << message;  // yaml-cpp chooses the column
  expect_parts(message, {": not valid YAML ("});
  expect_parts(refusal("a: 1\n---\nb: 2\n"), {"more than one YAML document"});
  expect_parts(refusal("? [a]\n: 1\n"), {"a key must be a scalar"});
}

struct BrokenYaml {
  const char* text;
  int line, column;
  const char* why;
};

// yaml-cpp's messages (exceptions.h) do not reach the user.
TEST(ConfigDocument, ExplainsBrokenYamlInItsOwnWords) {
  for (const BrokenYaml& broken :
       {BrokenYaml{"a: 1\n b: 2\n", 2, 3, "a ':' where no key can begin"},
        BrokenYaml{"a:\n\tb: 1\n", 2, 3, "a ':' where no key can begin"},
        BrokenYaml{"a: b: c\n", 1, 5, "write a text that contains ': ' in double quotes"},
        BrokenYaml{"a:\n  b: 1\n c: 2\n", 3, 2, "this line does not continue the line above"},
        BrokenYaml{"a: \"x\" y\n", 1, 8, "this line does not continue the line above"},
        BrokenYaml{"a: [1, 2\nb: 3\n", 2, 2, "a '[' has no matching ']'"},
        BrokenYaml{"a: {x: 1\n", 2, 1, "a '{' has no matching '}'"},
        BrokenYaml{"a: ]\n", 1, 4, "without its opening bracket"},
        BrokenYaml{"a: - b\n", 1, 4, "a list element ('- ') after a key on the same line"},
        BrokenYaml{"a: @x\n", 1, 4, "a value cannot begin with this character"},
        BrokenYaml{"a: *x\n", 1, 4, "an alias '*name' without an anchor"},
        BrokenYaml{"a: \"\\q\"\n", 1, 7, "an unknown escape"},
        BrokenYaml{"a: !!\n", 1, 6, "this construct cannot be read"}}) {
    const std::string message = refusal(broken.text);
    SCOPED_TRACE(message);
    EXPECT_TRUE(message.starts_with(
        fmt::format("train.yaml:{}:{}: not valid YAML (", broken.line, broken.column)));
    expect_parts(message, {broken.why});
    for (const char* raw : {"not found", "illegal", "token", "referenced", "handle"})
      EXPECT_EQ(message.find(raw), std::string::npos) << raw;
  }
}

TEST(ConfigDocument, CopiesAliases) {
  const auto document =
      parse("base: &b {lr: 0.3, steps: 7}\noptimizer: *b\n", {"optimizer.lr=0.4"});
  const Optimizer base = document.root().section("base").read(optimizer_table());
  const Optimizer optimizer = read_optimizer(document);
  EXPECT_EQ(base.lr, 0.3);
  EXPECT_EQ(optimizer.lr, 0.4);
  EXPECT_EQ(optimizer.steps, 7);
}

TEST(ConfigDocument, RefusesEndlessAliases) {
  expect_parts(refusal("a: &a [*a]\n"), {"more than 64 levels", "an alias contains itself"});
  std::string doubled = "a: &a [1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (char name = 'b'; name < 'j'; ++name) {
    doubled +=
        fmt::format("{0}: &{0} [*{1}, *{1}, *{1}, *{1}]\n", name, static_cast<char>(name - 1));
  }
  expect_parts(refusal(doubled), {"more than 100000 values", "nested aliases multiply"});
}

TEST(ConfigDocument, RefusesTags) {
  for (const char* const text : {"optimizer: {steps: !!int 5}\n", "optimizer: {name: !secret x}\n",
                                 "optimizer: !!map {lr: 1}\n", "optimizer: {betas: !!seq [1]}\n"})
    expect_parts(refusal(text), {"train.yaml:1:", "the tag", "remove the tag"});
  EXPECT_EQ(read_optimizer(parse("optimizer: {name: 'quoted', steps: 3, betas: []}\n")).steps, 3);
}

TEST(ConfigDocument, ExplainsKeysOfOtherPrograms) {
  expect_parts(refusal("optimizer: {learning_rate: 1}\n"),
               {"unknown key 'learning_rate' in optimizer", "use optimizer.lr"});
  expect_parts(refusal("batch-size: 4\n"), {"use train.batch"});
  struct Train {
    int steps = 0;
  };
  const auto train =
      ParamTable<Train>("train").integer("steps", &Train::steps, {1, 9}, "", "length").required();
  const auto document = parse("train: {max_steps: 3}\n");
  expect_parts(message_of(ErrorKind::config, [&] { document.root().section("train").read(train); }),
               {"'steps' is missing in train", "'max_steps' is not a key: use train.steps"});
}

TEST(ConfigDocument, FindsTheFileOfAShortName) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "configs");
  test::spill(folder / "other.yaml", "");
  const auto advice = [&](const std::string& name) {
    return message_of(ErrorKind::config, [&] { ConfigDocument::load(folder / name); });
  };
  expect_parts(advice("other"), {"other: cannot read", "did you mean", "other.yaml?"});
  expect_parts(advice("no-such"), {"has no 'no-such'"});
}

TEST(ConfigOverrides, RefuseBracketsWithTheRightSpelling) {
  expect_parts(
      refusal(kText, {"data.sources[1].weight=3"}),
      {"list elements are written without brackets here", "write data.sources.1.weight=3"});
}

TEST(ConfigOverrides, ReplaceAndAddValues) {
  const Optimizer values = read_optimizer(parse(
      "optimizer: {lr: 1}\n",
      {"optimizer.lr=4", "optimizer.steps=3", "optimizer.betas=[0.5]", "optimizer.name=a=b: c"}));
  EXPECT_EQ(values.lr, 4);
  EXPECT_EQ(values.steps, 3);
  EXPECT_EQ(values.betas, std::vector<double>{0.5});
  EXPECT_EQ(values.name, "a=b: c");
  EXPECT_EQ(read_optimizer(parse("", {"optimizer.lr=2"})).lr, 2);
  EXPECT_EQ(read_optimizer(parse("optimizer: {lr: 1}\n", {"optimizer={steps: 5}"})).lr, 0.1);
  EXPECT_EQ(read_optimizer(parse("", {"optimizer.name="})).name, "");
}

TEST(ConfigOverrides, RefuseToUndoEachOther) {
  EXPECT_EQ(refusal("", {"optimizer.lr=2", "optimizer.steps=3", " optimizer . lr = 4"}),
            "command line: optimizer.lr is given twice, as '2' and as '4' (only one value can "
            "apply)\n  leave one of them out");
  const std::string undone =
      "command line: 'optimizer={steps: 5}' would undo the earlier 'optimizer.lr=2' "
      "(it sets all of 'optimizer')\n  move 'optimizer.lr=2' after it, or remove it";
  EXPECT_EQ(refusal("", {"optimizer.lr=2", "optimizer={steps: 5}"}), undone);
  // In the opposite order, the second override changes a part of the first one's value.
  const Optimizer values = read_optimizer(
      parse("optimizer: {lr: 1}\n", {"optimizer={steps: 5, lr: 3}", "optimizer.lr=2"}));
  EXPECT_EQ(values.lr, 2);
  EXPECT_EQ(values.steps, 5);
  const std::vector<std::string> element = {"data.sources.0.weight=1", "data.sources=[]"};
  EXPECT_THROW(parse(kText, element), Error);
  EXPECT_THROW(parse(kText, {"data.sources.0.weight=1", "data.sources.00.weight=1"}), Error);
  // Names that share a prefix are different names.
  EXPECT_EQ(parse("", {"a.lr_low=1", "a.lr=2"}).root().section("a").keys().size(), 2u);
}

TEST(ConfigOverrides, ReachListElements) {
  const auto document = parse(kText, {"data.sources.1.weight=7", "data.sources.0={name: other}"});
  const auto sources = document.root().section("data").list("sources");
  EXPECT_EQ(sources[0].scalar("name")->value, "other");
  EXPECT_EQ(sources[1].scalar("weight")->value, "7");
  EXPECT_EQ(sources[1].scalar("weight")->place.to_string(), "command line");
}

TEST(ConfigOverrides, AreTheUsersInAStoredConfiguration) {
  const std::vector<std::string> overrides = {"data.sources.1.weight=7",
                                              "data.sources.0={name: a}"};
  const auto document =
      ConfigDocument::parse(kText, "model.yaml", overrides, ConfigOrigin::checkpoint);
  const auto sources = document.root().section("data").list("sources");
  EXPECT_EQ(sources[1].location().origin, ConfigOrigin::checkpoint);
  EXPECT_EQ(sources[1].scalar("name")->place.origin, ConfigOrigin::checkpoint);
  EXPECT_EQ(sources[1].scalar("weight")->place.origin, ConfigOrigin::user);
  EXPECT_EQ(sources[0].scalar("name")->place.origin, ConfigOrigin::user);
  EXPECT_EQ(parse(kText).root().section("data").location().origin, ConfigOrigin::user);
}

TEST(ConfigOverrides, RefuseBadKeysAndValues) {
  EXPECT_EQ(refusal("", {"optimizer.lr_=1"}),
            "command line: unknown key 'lr_' in optimizer\n"
            "  did you mean 'lr'? known: lr, steps, name, betas");
  EXPECT_EQ(refusal("optimizer: {steps: 2}\n", {"optimizer.steps=0"}),
            "command line: steps = 0 is out of range [1, 100] (how many)");
  const std::string advice =
      "\n  write an override as section.key=value, or section.0.key=value for a list element";
  EXPECT_EQ(refusal("", {"optimizer.lr"}),
            "command line: cannot apply 'optimizer.lr' (there is no '=')" + advice);
  EXPECT_EQ(refusal("", {"=1"}), "command line: cannot apply '=1' (the key is empty)" + advice);
  for (const std::string key : {"a..b", "a.", ".a", "a. .b"}) {
    EXPECT_EQ(refusal("", {key + "=1"}),
              "command line: cannot apply '" + key + "=1' (the key has an empty part)" + advice);
  }
  EXPECT_EQ(refusal("optimizer: {lr: 1}\n", {"optimizer.lr.x=1"}),
            "command line: cannot apply 'optimizer.lr.x=1' ('optimizer.lr' is a value, not a "
            "section)" +
                advice);
  EXPECT_EQ(refusal(kText, {"data.sources.2.weight=1"}),
            "command line: cannot apply 'data.sources.2.weight=1' ('data.sources' is a list of "
            "length 2, which has no element '2')" +
                advice);
  expect_parts(refusal("", {"optimizer.betas=[0.1"}), {"command line: not valid YAML"});
}

TEST(ConfigDocument, RefusesMissingFiles) {
  const std::string message =
      message_of(ErrorKind::config, [] { ConfigDocument::load("/nonexistent/train.yaml"); });
  EXPECT_EQ(message,
            "/nonexistent/train.yaml: cannot read the configuration (No such file or directory)\n"
            "  '/' exists, but has no 'nonexistent'");
  expect_parts(message_of(ErrorKind::config, [] { ConfigDocument::load("/tmp"); }),
               {"is a folder"});
}

TEST(ConfigDocument, RefusesTextThatIsNotUtf8) {
  const std::string message = refusal("optimizer:\n  name: caf\xe9\n");
  expect_parts(message, {"train.yaml:2:1: not UTF-8", "name: caf\\xe9"});
  expect_parts(refusal("", {"optimizer.name=caf\xe9"}), {"command line: not UTF-8", "caf\\xe9"});
  EXPECT_EQ(read_optimizer(parse("optimizer: {name: caf\xc3\xa9}")).name, "caf\xc3\xa9");
}

TEST(ConfigDocument, RefusesControlCharacters) {
  for (const char character : {'\0', '\x04', '\x1b'}) {
    const std::string text = std::string("optimizer: {lr: 0.5}\n") + character + "\nunknown: 1\n";
    expect_parts(refusal(text), {"train.yaml:2:1: a control character"});
  }
  EXPECT_EQ(read_optimizer(parse("optimizer:\r\n  lr: 1\t# first\r\n")).lr, 1);
}

TEST(ConfigDocument, RefusesLargeFiles) {
  expect_parts(message_of(ErrorKind::config, [] { ConfigDocument::load("/dev/zero"); }),
               {"/dev/zero: more than 256.0 KiB"});
  std::string many;
  for (int i = 0; i < 300'000; ++i) many += "k" + std::to_string(i) + ": 1\n";
  expect_parts(refusal(many), {"more than 256.0 KiB"});
}

// For the first input, yaml-cpp's LoadAll would create documents until memory runs out.
TEST(ConfigDocument, RefusesASecondDocument) {
  const std::string advice = "more than one YAML document";
  expect_parts(refusal("\"k\":}, [] !!str 7\n? complex\n: [~, null, {}, []]\n"), {advice});
  expect_parts(refusal("---\n---\na: 1\n"), {advice});
  EXPECT_EQ(read_optimizer(parse("optimizer: {lr: 1}\n---\n# nothing\n")).lr, 1);
}

// Every part of a key stores its path, so without a limit memory would grow quadratically.
TEST(ConfigOverrides, RefuseKeysWithManyParts) {
  std::string key = "a";
  for (int i = 0; i < 60'000; ++i) key += ".a";
  const std::string message = refusal("", {key + "=1"});
  expect_parts(message, {"command line: cannot apply 'a.a.", "more than 64 parts"});
  EXPECT_LT(message.size(), 300u);
}

// The time must grow with the number of keys, not with its square.
TEST(ConfigDocument, ReadsManyKeysInLinearTime) {
  constexpr int kKeys = 20'000;
  std::string many = "options:\n";
  for (int i = 0; i < kKeys; ++i) many += "  k" + std::to_string(i) + ": 1\n";
  const ConfigDocument document = parse(many);
  EXPECT_EQ(document.root().section("options").settings().size(), std::size_t{kKeys});
  document.finish();
}

}  // namespace
}  // namespace wellspring::test
