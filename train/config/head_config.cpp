#include "train/config/head_config.h"

#include "core/error.h"
#include "core/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace wellspring {
namespace {

const ParamTable<HeadConfig>& head_table() {
  static const auto table =
      ParamTable<HeadConfig>("head")
          .text("name", &HeadConfig::name, "name of the head; sources refer to it with `head`")
          .required()
          .choice(
              "loss", &HeadConfig::loss, loss_names(),
              "class: the label; soft_label: class probabilities in the column `target`; "
              "multi_label: independent labels in [0, 1], the columns of `target`; regression: "
              "the latents or columns of `target` listed in `targets`; pixel_class: the class of "
              "each pixel, from dense labels; item_regression: the features of each item of a set "
              "listed in `targets`, which the network does not see; masked_patches: the pixels of "
              "patches that mask_patches hides from the network (self-supervised); info_nce, "
              "alignment_uniformity, vicreg: self-supervised, needs data.views")
          .text("output", &HeadConfig::output,
                "output of the model that the head reads; empty: `pixels` for pixel_class, `items` "
                "for item_regression, `patches` for masked_patches, `sample` for the others")
          .real(
              "label_smoothing", &HeadConfig::label_smoothing, {0, 0.999}, "",
              "(class, soft_label, pixel_class) share of the target that is spread evenly over all "
              "classes",
              "Szegedy et al. 2016, section 7")
          .text(
              "average_with", &HeadConfig::average_with,
              "(class, soft_label) head with the same classes: evaluations and predictions use the "
              "mean of the outputs of both, as in DeiT (Touvron et al. 2021, section 4)")
          .choice("cross_entropy", &HeadConfig::cross_entropy, cross_entropy_names(),
                  "(class, soft_label) softmax: one distribution over the classes; binary: each "
                  "class against all others, averaged over the classes",
                  "binary: Wightman et al. 2021 (ResNet strikes back); Touvron et al. 2022 (DeiT "
                  "III)")
          .choice(
              "positives", &HeadConfig::positives,
              {{"equal", ops::PositiveWeight::equal}, {"balanced", ops::PositiveWeight::balanced}},
              "(multi_label) weight of a positive label relative to a negative one: equal: 1; "
              "balanced: K / n if n of a sample's K labels are positive (soft labels: n is their "
              "sum, at least 1)",
              "Anderson and Farrell 2022: balanced")
          .real("weight", &HeadConfig::weight, {0, 1e6}, "", "weight of the head's loss in the sum")
          .text_list("targets", &HeadConfig::targets,
                     "(regression) latents or columns of `target` to predict, by name; "
                     "(item_regression) features of the items")
          .integer_list("projection", &HeadConfig::projection, {1, 65536}, "",
                        "(self-supervised) widths of the layers of the projection, each hidden one "
                        "with batch norm and ReLU; the last is the width of the embedding")
          .real("temperature", &HeadConfig::temperature, {0.01, 100}, "",
                "(info_nce) divides the similarities", "Chen et al. 2020")
          .real("uniformity", &HeadConfig::uniformity, {0, 1e6}, "",
                "(alignment_uniformity) weight of the uniformity", "Wang and Isola 2020")
          .real("invariance", &HeadConfig::invariance, {0, 1e6}, "",
                "(vicreg) weight of the distance between views", "Bardes et al. 2022")
          .real("variance", &HeadConfig::variance, {0, 1e6}, "",
                "(vicreg) weight of the variance term", "Bardes et al. 2022")
          .real("covariance", &HeadConfig::covariance, {0, 1e6}, "",
                "(vicreg) weight of the covariance term", "Bardes et al. 2022")
          .choice("error", &HeadConfig::error, error_names(),
                  "(regression) error of each target, scaled to [-1, 1]; squared; huber: linear "
                  "beyond delta; gaussian: negative log-likelihood with a predicted variance; "
                  "quantile: the median and the quantiles listed",
                  "Huber 1964; Nix & Weigend 1994; Koenker & Bassett 1978")
          .real("delta", &HeadConfig::delta, {1e-6, 1e6}, "",
                "(huber) error from which the loss is linear; a target's range has width 2")
          .real_list("quantiles", &HeadConfig::quantiles, {0.001, 0.999}, "",
                     "(quantile) levels to predict besides the median, such as [0.16, 0.84]")
          .text_list(
              "sources", &HeadConfig::sources,
              "sources that train this head; empty: all sources with its targets (regressions) "
              "or classes per pixel (pixel_class), otherwise the sources whose `head` names it");
  return table;
}

enum class ShortLoss : std::uint8_t { cross_entropy, binary_cross_entropy, mse };

/// `loss`, the short form of `heads`.
struct LossSection {
  ShortLoss kind = ShortLoss::cross_entropy;
  double label_smoothing = 0;
  std::vector<std::string> targets;
};

const ParamTable<LossSection>& loss_table() {
  static const auto table =
      ParamTable<LossSection>("loss")
          .choice("kind", &LossSection::kind,
                  {{"cross_entropy", ShortLoss::cross_entropy},
                   {"binary_cross_entropy", ShortLoss::binary_cross_entropy},
                   {"mse", ShortLoss::mse}},
                  "short form of `heads`: cross_entropy: one class head per label space; "
                  "binary_cross_entropy: the same with cross_entropy: binary; mse: one regression")
          .real("label_smoothing", &LossSection::label_smoothing, {0, 0.999}, "",
                "share of the target spread over all classes", "Szegedy et al. 2016, section 7")
          .text_list("targets", &LossSection::targets, "(mse) latents to predict, by name");
  return table;
}

void require_distinct(const ConfigNode& node, const char* what,
                      const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (std::ranges::count(names, name) > 1)
      node.refuse(fmt::format("{} lists '{}' twice", what, name));
}

std::vector<HeadConfig> read_short(const ConfigNode& node,
                                   const std::vector<std::string>& label_spaces) {
  const LossSection loss = node.read(loss_table());
  const std::vector<std::string>& targets = loss.targets;
  require_distinct(node, "targets", targets);
  if (loss.kind == ShortLoss::mse) {
    if (targets.empty())
      node.refuse("targets is missing", "a regression needs the names of the latents to predict");
    if (loss.label_smoothing > 0)
      node.refuse("label_smoothing does not apply to mse", "a regression has no labels");
    HeadConfig head;
    head.name = "regression";
    head.loss = LossKind::regression;
    head.targets = targets;
    head.place = node.location();
    return {head};
  }
  if (!targets.empty())
    node.refuse("targets does not apply to cross_entropy",
                "a classifier predicts labels, not latents");
  std::vector<HeadConfig> heads;
  for (const std::string& name : label_spaces) {
    HeadConfig head;
    head.name = name;
    head.label_smoothing = loss.label_smoothing;
    if (loss.kind == ShortLoss::binary_cross_entropy) head.cross_entropy = CrossEntropy::binary;
    head.place = node.location();
    heads.push_back(std::move(head));
  }
  return heads;
}

/// Head keys that apply only to some self-supervised losses.
const std::vector<std::pair<std::string, std::vector<LossKind>>>& self_supervised_keys() {
  static const std::vector<std::pair<std::string, std::vector<LossKind>>> keys = {
      {"projection", {LossKind::info_nce, LossKind::alignment_uniformity, LossKind::vicreg}},
      {"temperature", {LossKind::info_nce}},
      {"uniformity", {LossKind::alignment_uniformity}},
      {"invariance", {LossKind::vicreg}},
      {"variance", {LossKind::vicreg}},
      {"covariance", {LossKind::vicreg}}};
  return keys;
}

bool has_effect(std::string_view key, LossKind loss) {
  return std::ranges::any_of(self_supervised_keys(), [&](const auto& entry) {
    return entry.first == key && std::ranges::count(entry.second, loss) > 0;
  });
}

void check_self_supervised(const ConfigNode& node, const HeadConfig& head) {
  for (const auto& [name, losses] : self_supervised_keys())
    if (node.has(name) && !has_effect(name, head.loss))
      node.refuse(fmt::format("{} does not apply to loss {}", name, to_string(head.loss)));
  if (!compares_views(head.loss)) return;
  if (head.projection.empty())
    node.refuse("projection is missing", "the embedding needs a width",
                "write projection: [256, 128] for a hidden layer and an embedding of 128 values");
  if (!head.sources.empty())
    node.refuse(fmt::format("sources does not apply to loss {}", to_string(head.loss)),
                "it compares all rows of a batch", "remove sources");
}

void check_error(const ConfigNode& node, const HeadConfig& head) {
  using Error = ops::RegressionError;
  if (head.loss != LossKind::regression && head.error != Error::squared)
    node.refuse(fmt::format("error does not apply to loss {}", to_string(head.loss)),
                "only a regression has one");
  if (node.has("delta") && head.error != Error::huber)
    node.at("delta").refuse("delta has no effect", "only error huber has one",
                            "remove it, or set error: huber");
  if (head.error != Error::quantile && head.quantiles.empty()) return;
  const auto& levels = head.quantiles;
  // Prediction files name a quantile's column by its level with six digits.
  const auto text = [](double level) { return fmt::format("{:g}", level); };
  const bool distinct = std::ranges::all_of(levels, [&](double level) {
    return text(level) != "0.5" && std::ranges::count(levels, text(level), text) == 1;
  });
  if (head.error == Error::quantile && distinct && !levels.empty() &&
      levels.size() < ops::RegressionLaw::kMostLevels)
    return;
  node.refuse(head.error == Error::quantile
                  ? fmt::format("quantiles needs 1 to {} different levels other than 0.5",
                                ops::RegressionLaw::kMostLevels - 1)
                  : "quantiles has no effect",
              "error quantile always predicts the median as well as the listed quantiles",
              "for example error: quantile, quantiles: [0.16, 0.84]");
}

HeadConfig read_head(const ConfigNode& node, const std::vector<std::string>& sources) {
  HeadConfig head = node.read(head_table());
  head.place = node.location();
  require_distinct(node, "targets", head.targets);
  require_distinct(node, "sources", head.sources);
  if (head.name.empty()) node.refuse("name is empty");
  const bool regression =
      head.loss == LossKind::regression || head.loss == LossKind::item_regression;
  if (regression && head.targets.empty())
    node.refuse("targets is missing",
                "a regression needs the names of the latents, columns or features to predict");
  if (!regression && !head.targets.empty())
    node.refuse(fmt::format("targets does not apply to loss {}", to_string(head.loss)),
                "only a regression has targets");
  check_self_supervised(node, head);
  const bool dense = head.loss == LossKind::pixel_class;
  const bool choice = head.loss == LossKind::class_label || head.loss == LossKind::soft_label;
  if (!dense && !choice && head.label_smoothing > 0)
    node.refuse(fmt::format("label_smoothing does not apply to loss {}", to_string(head.loss)),
                "only class, soft_label and pixel_class are smoothed");
  if (!head.average_with.empty() && !choice)
    node.refuse(fmt::format("average_with does not apply to loss {}", to_string(head.loss)),
                "only the outputs of class and soft_label are averaged");
  if (!choice && head.cross_entropy != CrossEntropy::softmax)
    node.refuse(fmt::format("cross_entropy does not apply to loss {}", to_string(head.loss)),
                "only class and soft_label choose one of several classes",
                head.loss == LossKind::multi_label ? "remove it: multi_label is always binary"
                                                   : "remove it, or set loss: class");
  if (head.loss != LossKind::multi_label && head.positives != ops::PositiveWeight::equal)
    node.refuse(fmt::format("positives does not apply to loss {}", to_string(head.loss)),
                "only multi_label weighs positive labels");
  check_error(node, head);
  for (const std::string& name : head.sources)
    if (std::ranges::count(sources, name) == 0)
      fail(ErrorKind::config,
           {fmt::format("{}there is no source '{}'", node.location().prefix(), name), "",
            name_advice(name, sources)});
  return head;
}

void write_head(ConfigWriter& writer, const HeadConfig& head) {
  using Error = ops::RegressionError;
  const auto unused = [&](std::string_view key) {
    return has_effect(key, head.loss) ? std::string_view() : key;
  };
  writer.table(
      head_table(), head,
      {head.average_with.empty() ? "average_with" : "",
       head.cross_entropy == CrossEntropy::softmax ? "cross_entropy" : "",
       head.error == Error::squared ? "error" : "", head.error == Error::huber ? "" : "delta",
       head.error == Error::quantile ? "" : "quantiles", unused("projection"),
       unused("temperature"), unused("uniformity"), unused("invariance"), unused("variance"),
       unused("covariance")});
}

}  // namespace

std::vector<HeadConfig> read_heads(const ConfigNode& root,
                                   const std::vector<std::string>& label_spaces,
                                   const std::vector<std::string>& sources) {
  const ConfigNode loss = root.section("loss");
  if (!root.has("heads")) return read_short(loss, label_spaces);
  if (root.has("loss"))
    loss.refuse("both loss and heads are given", "loss is the short form of heads",
                "remove one of the two");
  std::vector<HeadConfig> heads;
  for (const ConfigNode& node : root.list("heads")) {
    heads.push_back(read_head(node, sources));
    const auto same = [&](const HeadConfig& other) { return other.name == heads.back().name; };
    if (std::ranges::count_if(heads, same) > 1)
      node.refuse(fmt::format("the name '{}' is used twice", heads.back().name), "",
                  "set another name");
  }
  if (heads.empty()) root.refuse("heads is empty", "the network needs at least one head");
  return heads;
}

void write_heads(ConfigWriter& writer, const std::vector<HeadConfig>& heads) {
  writer.section("heads", [&] {
    for (std::size_t i = 0; i < heads.size(); ++i)
      writer.element(i, [&] { write_head(writer, heads[i]); });
  });
}

std::vector<ConfigSection> head_sections() {
  return {{"heads[]", "", head_table().rows(), ""},
          {"loss", "short form of heads", loss_table().rows(), ""}};
}

}  // namespace wellspring
