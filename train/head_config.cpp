#include "train/head_config.h"

#include "core/error.h"
#include "core/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace wellspring {
namespace {

const ParamTable<HeadConfig>& head_table() {
  static const auto table =
      ParamTable<HeadConfig>("head")
          .text("name", &HeadConfig::name,
                "of the head; sources name the one of their labels by `head`")
          .required()
          .choice(
              "loss", &HeadConfig::loss,
              {{"class", LossKind::class_label},
               {"soft_label", LossKind::soft_label},
               {"multi_label", LossKind::multi_label},
               {"regression", LossKind::regression}},
              "class: the label; soft_label: probabilities in the column `target`; multi_label: "
              "each column of `target`, yes or no; regression: the latents or columns of "
              "`target` that the list `targets` names, of all sources that have them or of those "
              "that the list `sources` names")
          .real("label_smoothing", &HeadConfig::label_smoothing, {0, 0.999}, "",
                "of class and soft_label: share of the target spread over all classes",
                "Szegedy et al. 2016, section 7")
          .real("weight", &HeadConfig::weight, {0, 1e6}, "", "of its loss among the heads'");
  return table;
}

enum class ShortLoss : std::uint8_t { cross_entropy, mse };

/// `loss`, the short form.
struct LossSection {
  ShortLoss kind = ShortLoss::cross_entropy;
  double label_smoothing = 0;
};

const ParamTable<LossSection>& loss_table() {
  static const auto table =
      ParamTable<LossSection>("loss")
          .choice(
              "kind", &LossSection::kind,
              {{"cross_entropy", ShortLoss::cross_entropy}, {"mse", ShortLoss::mse}},
              "in place of `heads`: a class head for each label space, or one regression of the "
              "latents that the list `targets` names")
          .real("label_smoothing", &LossSection::label_smoothing, {0, 0.999}, "",
                "share of the target spread over all classes", "Szegedy et al. 2016, section 7");
  return table;
}

std::vector<std::string> read_names(const ConfigNode& node, const std::string& key) {
  std::vector<std::string> names;
  for (const ConfigNode& element : node.list(key)) {
    const std::string name = element.scalar().value;
    if (std::ranges::count(names, name) > 0)
      node.refuse(fmt::format("{} names '{}' twice", key, name));
    names.push_back(name);
  }
  return names;
}

std::vector<HeadConfig> read_short(const ConfigNode& node,
                                   const std::vector<std::string>& label_spaces) {
  const LossSection loss = node.read(loss_table());
  const std::vector<std::string> targets = read_names(node, "targets");
  if (loss.kind == ShortLoss::mse) {
    if (targets.empty())
      node.refuse("targets is missing", "a regression needs the names of the latents it predicts");
    if (loss.label_smoothing > 0)
      node.refuse("label_smoothing beside mse", "a regression has no labels");
    HeadConfig head;
    head.name = "regression";
    head.loss = LossKind::regression;
    head.targets = targets;
    head.place = node.place();
    return {head};
  }
  if (!targets.empty())
    node.refuse("targets beside cross_entropy", "a classifier learns labels, not latents");
  std::vector<HeadConfig> heads;
  for (const std::string& name : label_spaces) {
    HeadConfig head;
    head.name = name;
    head.label_smoothing = loss.label_smoothing;
    head.place = node.place();
    heads.push_back(std::move(head));
  }
  return heads;
}

HeadConfig read_head(const ConfigNode& node, const std::vector<std::string>& sources) {
  HeadConfig head = node.read(head_table());
  head.place = node.place();
  head.targets = read_names(node, "targets");
  head.sources = read_names(node, "sources");
  if (head.name.empty()) node.refuse("name is empty");
  const bool regression = head.loss == LossKind::regression;
  if (regression && head.targets.empty())
    node.refuse("targets is missing", "a regression needs the names of what it predicts");
  if (!regression && !head.targets.empty())
    node.refuse(fmt::format("targets beside loss {}", to_string(head.loss)),
                "only a regression predicts what it names");
  if (!regression && !head.sources.empty())
    node.refuse(fmt::format("sources beside loss {}", to_string(head.loss)),
                "a source names the head of its labels itself, by `head`");
  const bool smooth = head.loss == LossKind::class_label || head.loss == LossKind::soft_label;
  if (!smooth && head.label_smoothing > 0)
    node.refuse(fmt::format("label_smoothing beside loss {}", to_string(head.loss)),
                "only one label among several is smoothed");
  for (const std::string& name : head.sources)
    if (std::ranges::count(sources, name) == 0)
      fail(ErrorKind::config,
           {fmt::format("{}there is no source '{}'", node.place().prefix(), name), "",
            name_advice(name, sources)});
  return head;
}

std::string list_yaml(const std::string& key, const std::vector<std::string>& names) {
  if (names.empty()) return "";
  std::string out = fmt::format("    {}:\n", key);
  for (const std::string& name : names) out += fmt::format("      - {}\n", yaml_scalar(name));
  return out;
}

}  // namespace

std::vector<HeadConfig> read_heads(const ConfigNode& root,
                                   const std::vector<std::string>& label_spaces,
                                   const std::vector<std::string>& sources) {
  const ConfigNode loss = root.section("loss");
  if (!root.has("heads")) return read_short(loss, label_spaces);
  if (root.has("loss"))
    loss.refuse("loss beside heads", "heads say how each of them learns", "remove one of the two");
  std::vector<HeadConfig> heads;
  for (const ConfigNode& node : root.list("heads")) {
    heads.push_back(read_head(node, sources));
    const auto same = [&](const HeadConfig& other) { return other.name == heads.back().name; };
    if (std::ranges::count_if(heads, same) > 1)
      node.refuse(fmt::format("a second head is called '{}'", heads.back().name), "",
                  "give it a name of its own");
  }
  if (heads.empty()) root.refuse("heads is empty", "a network learns by its heads");
  return heads;
}

std::string heads_yaml(const std::vector<HeadConfig>& heads) {
  std::string out = "heads:\n";
  for (const HeadConfig& head : heads) {
    std::string lines = head_table().to_yaml(head, 4);
    lines[2] = '-';
    out += lines + list_yaml("targets", head.targets) + list_yaml("sources", head.sources);
  }
  return out;
}

std::vector<ParamRow> head_rows() {
  return head_table().rows();
}
std::vector<ParamRow> loss_rows() {
  return loss_table().rows();
}

}  // namespace wellspring
