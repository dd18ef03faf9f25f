#include "train/heads/heads.h"

#include "core/error.h"
#include "core/text/plural.h"
#include "core/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace wellspring {
namespace {

std::vector<std::string> names_of(const std::vector<HeadTarget>& targets) {
  std::vector<std::string> names;
  for (const HeadTarget& target : targets) names.push_back(target.name);
  return names;
}

/// A target and its column in the source (see RegressionTargets::column).
struct Found {
  std::int32_t column = 0;
  HeadTarget target;
};
std::optional<Found> find_target(const SourceTruth& source, LossKind loss,
                                 const std::string& name) {
  const auto search = [&](const std::vector<HeadTarget>& list) -> std::optional<std::int32_t> {
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i].name == name) return static_cast<std::int32_t>(i);
    return std::nullopt;
  };
  if (loss == LossKind::item_regression) {
    const auto i = search(source.features);
    if (!i || source.items == 0) return std::nullopt;
    return Found{*i, source.features[static_cast<std::size_t>(*i)]};
  }
  if (const auto i = search(source.latents))
    return Found{*i, source.latents[static_cast<std::size_t>(*i)]};
  if (const auto i = search(source.targets))
    return Found{-1 - *i, source.targets[static_cast<std::size_t>(*i)]};
  return std::nullopt;
}

bool has_all_targets(const SourceTruth& source, const HeadConfig& head) {
  return std::ranges::all_of(head.targets, [&](const std::string& name) {
    return find_target(source, head.loss, name).has_value();
  });
}

bool has_targets(LossKind loss) {
  return loss == LossKind::regression || loss == LossKind::item_regression;
}

bool teaches(const SourceTruth& source, const HeadConfig& head) {
  if (compares_views(head.loss)) return true;
  if (!head.sources.empty()) return std::ranges::count(head.sources, source.of) > 0;
  if (head.loss == LossKind::masked_patches) return true;
  if (has_targets(head.loss)) return has_all_targets(source, head);
  if (head.loss == LossKind::pixel_class) return !source.dense_classes.empty();
  return source.head == head.name;
}

std::string prefix_of(const HeadConfig& head) {
  return fmt::format("{}head '{}'", head.place.prefix(), head.name);
}

/// All target names of the sources, for error messages.
std::vector<std::string> all_names(LossKind loss, const std::vector<SourceTruth>& sources) {
  std::vector<std::string> all;
  const auto add = [&all](const std::vector<HeadTarget>& list) {
    for (const std::string& name : names_of(list))
      if (std::ranges::count(all, name) == 0) all.push_back(name);
  };
  for (const SourceTruth& source : sources) {
    if (loss == LossKind::item_regression) {
      add(source.features);
    } else {
      add(source.latents);
      add(source.targets);
    }
  }
  return all;
}

[[noreturn]] void refuse_unknown_target(const HeadConfig& head, const SourceTruth* source,
                                        const std::vector<SourceTruth>& sources) {
  for (const std::string& name : head.targets) {
    const bool known = source != nullptr
                           ? find_target(*source, head.loss, name).has_value()
                           : std::ranges::any_of(sources, [&](const SourceTruth& other) {
                               return find_target(other, head.loss, name).has_value();
                             });
    if (known) continue;
    const bool item = head.loss == LossKind::item_regression;
    const char* const what = item ? "feature of items" : "latent or target";
    fail(ErrorKind::config,
         {source != nullptr
              ? fmt::format("{}: source '{}' has no {} '{}'", prefix_of(head), source->name, what,
                            name)
              : fmt::format("{}: no source has a {} '{}'", prefix_of(head), what, name),
          item ? "loss item_regression predicts features of the items of sets"
               : "the targets of a file source are the latents that `export` wrote with its rows, "
                 "and the arrays that the source lists as latents",
          name_advice(name,
                      all_names(head.loss, source != nullptr ? std::vector{*source} : sources))});
  }
  fail(ErrorKind::config,
       {fmt::format("{}: no source has all its targets ({})", prefix_of(head), join(head.targets)),
        "each sample must provide either all targets of a regression or none",
        "define a separate head for each group of targets that a source provides"});
}

void require_probabilities(const HeadConfig& head, const SourceTruth& source) {
  if (source.targets.empty())
    fail(ErrorKind::config,
         {fmt::format("{}: source '{}' has no `target` column", prefix_of(head), source.name),
          fmt::format("loss {} reads its probabilities from that column", to_string(head.loss)),
          "use loss: class, which reads labels, or a source with a `target` column"});
  const std::size_t outputs =
      head.loss == LossKind::soft_label ? source.classes.size() : source.targets.size();
  if (source.targets.size() < outputs)
    fail(ErrorKind::config,
         {fmt::format("{}: source '{}' has {} but {} in `target`", prefix_of(head), source.name,
                      counted(outputs, "class", "classes"),
                      counted(source.targets.size(), "column")),
          "loss soft_label needs one probability per class", ""});
}

/// The class names for a classifier's outputs.
std::vector<std::string> classes_of(LossKind loss, const SourceTruth& source) {
  if (is_self_supervised(loss)) return {};
  if (loss == LossKind::pixel_class) return source.dense_classes;
  return loss == LossKind::multi_label ? names_of(source.targets) : source.classes;
}

void require_dense_labels(const HeadConfig& head, const SourceTruth& source) {
  if (!source.dense_classes.empty()) return;
  fail(ErrorKind::config,
       {fmt::format("{}: source '{}' has no class per pixel", prefix_of(head), source.name),
        "loss pixel_class learns dense labels",
        "use a generator whose dense labels are classes, such as shapes, or dead_leaves with "
        "dense: shape; see wellspring describe"});
}

void require_equal_classes(const HeadConfig& head, const HeadSpec& spec,
                           const SourceTruth& source) {
  const std::vector<std::string> classes = classes_of(spec.loss, source);
  if (classes == spec.classes) return;
  fail(ErrorKind::config,
       {fmt::format("{}: source '{}' has {} ({}), but an earlier source has {} ({})",
                    prefix_of(head), source.name, counted(classes.size(), "class", "classes"),
                    join(classes), spec.classes.size(), join(spec.classes)),
        "all sources of a head must have the same classes", "give the source its own head"});
}

void require_equal_target(const HeadConfig& head, const HeadTarget& there, const HeadTarget& here,
                          const SourceTruth& source) {
  if (there == here) return;
  fail(ErrorKind::config, {fmt::format("{}: target '{}' of source '{}' has the range [{:g}, {:g}] "
                                       "{}, but [{:g}, {:g}] {} in an earlier source",
                                       prefix_of(head), here.name, source.name, here.low, here.high,
                                       here.unit, there.low, there.high, there.unit),
                           "a target must have the same range and unit in all sources",
                           "give each source its own head"});
}

void require_a_choice(const HeadConfig& head, const HeadSpec& spec) {
  if (!spec.is_choice() || spec.classes.size() > 1) return;
  fail(ErrorKind::config,
       {fmt::format("{}: there is only one class, '{}'", prefix_of(head), join(spec.classes)),
        "its loss is 0 from the start",
        "add samples of another class (for files: another folder or label), or use loss: "
        "regression"});
}

/// A pixel's outputs are interleaved, so a per-pixel head cannot share its output with another
/// head. A projection cannot share its output either.
void require_own_output(const HeadConfig& config, const HeadSpec& head,
                        const std::vector<HeadSpec>& earlier) {
  const auto alone = [](const HeadSpec& one) { return one.positions > 1 || one.is_embedding(); };
  for (const HeadSpec& other : earlier)
    if (other.output == head.output && (alone(other) || alone(head)))
      fail(ErrorKind::config, {fmt::format("{}: it reads output '{}', as does head '{}'",
                                           prefix_of(config), head.output, other.name),
                               "an output per pixel or item and a projection have one head",
                               "set another `output`, or remove one of the two"});
}

/// Requires that the head in `average_with` has the same loss and classes and is no average itself.
void require_a_partner(const HeadConfig& config, const std::vector<HeadSpec>& heads) {
  if (config.average_with.empty()) return;
  const auto named = [&](const std::string& name) {
    return std::ranges::find(heads, name, &HeadSpec::name);
  };
  const auto own = named(config.name), other = named(config.average_with);
  const auto refuse = [&](const std::string& why, const std::string& advice) {
    fail(ErrorKind::config,
         {fmt::format("{}: average_with: {}: {}", prefix_of(config), config.average_with, why),
          "the mean of two classifiers needs the same classes in the same order", advice});
  };
  if (other == heads.end() || other == own) {
    std::vector<std::string> names;
    for (const HeadSpec& head : heads)
      if (head.name != config.name) names.push_back(head.name);
    refuse("there is no other head with this name", name_advice(config.average_with, names));
  }
  if (other->loss != own->loss || other->classes != own->classes ||
      other->cross_entropy != own->cross_entropy)
    refuse("that head has a different loss or different classes",
           "give both heads the same loss and the same sources");
  if (!other->average_with.empty())
    refuse("that head is itself an average", "remove one of the two average_with keys");
}

void require_variety(const HeadConfig& head, const HeadSpec& spec,
                     const std::vector<SourceTruth>& sources) {
  for (const HeadTarget& target : spec.targets) {
    const bool varied = std::ranges::any_of(sources, [&](const SourceTruth& source) {
      return teaches(source, head) && std::ranges::count(source.constants, target.name) == 0;
    });
    if (varied) continue;
    fail(ErrorKind::config,
         {fmt::format("{}: target '{}' is {:g}{}{} in every sample", prefix_of(head), target.name,
                      target.low, target.unit.empty() ? "" : " ", target.unit),
          "a network learns nothing from a constant target",
          "remove it from the targets, or make it vary in a source (by generator parameters or "
          "other rows)"});
  }
}

/// Sets the positions and patches of the head to the patches of `source`.
void mask_like(HeadSpec& spec, const HeadConfig& head, const SourceTruth& source) {
  if (source.patch_values == 0)
    fail(ErrorKind::config,
         {fmt::format("{}: source '{}' has no masked patches with pixels", prefix_of(head),
                      source.name),
          "loss masked_patches predicts the pixels that a mask hides from the network",
          "add mask_patches: {patch: 4, ratio: 0.6, fill: none} to the augment of the source, or "
          "list the `sources` of the head"});
  spec.positions = source.patches;
  spec.patch = source.patch;
  spec.patch_values = source.patch_values;
}

void require_equal_patches(const HeadConfig& head, const HeadSpec& spec,
                           const std::vector<SourceTruth>& sources) {
  for (const SourceTruth& source : sources)
    if (spec.is_masked() && source.patches != 0 && source.patch != spec.patch)
      fail(ErrorKind::config,
           {fmt::format("{}: source '{}' has patches of {} pixels, another source of {}",
                        prefix_of(head), source.name, source.patch, spec.patch),
            "the network hides patches of one size", "set the same mask_patches.patch in both"});
}

void hide(HeadSpec& spec, const HeadConfig& head, std::int32_t column) {
  if (column >= ops::kMostHidable)
    fail(ErrorKind::config, {fmt::format("{}: target '{}' is feature {} of the items",
                                         prefix_of(head), spec.targets.back().name, column + 1),
                             fmt::format("only the first {} can be targets", ops::kMostHidable),
                             "change the order of the features"});
  spec.hidden |= std::uint64_t{1} << column;
}

/// Adds the classes or targets of `source` to the head; `first`: true for the head's first source.
void learn_of(HeadSpec& spec, const HeadConfig& head, const SourceTruth& source, bool first) {
  if (spec.is_masked()) return mask_like(spec, head, source);
  if (!spec.has_targets()) {
    if (spec.is_dense()) {
      require_dense_labels(head, source);
      spec.positions = source.pixels;
    } else if (spec.loss != LossKind::class_label && !spec.is_embedding()) {
      require_probabilities(head, source);
    }
    if (first) spec.classes = classes_of(spec.loss, source);
    require_equal_classes(head, spec, source);
    return;
  }
  if (!has_all_targets(source, head)) refuse_unknown_target(head, &source, {});
  for (std::size_t i = 0; i < head.targets.size(); ++i) {
    const Found found = *find_target(source, head.loss, head.targets[i]);
    if (first) spec.targets.push_back(found.target);
    require_equal_target(head, spec.targets[i], found.target, source);
    if (spec.is_item()) hide(spec, head, found.column);
  }
  if (spec.is_item()) spec.positions = source.items;
}

std::vector<std::int32_t> columns_of(const HeadSpec& head, const std::vector<SourceTruth>& sources,
                                     std::uint32_t which) {
  const std::size_t targets = head.targets.size();
  std::vector<std::int32_t> columns(kMaxSources * targets, 0);
  for (std::size_t s = 0; s < sources.size(); ++s)
    for (std::size_t k = 0; k < targets && ((which >> s) & 1u) != 0; ++k)
      columns[s * targets + k] = find_target(sources[s], head.loss, head.targets[k].name)->column;
  return columns;
}

HeadConfig config_of(const HeadSpec& head, const std::vector<HeadConfig>& configs) {
  for (const HeadConfig& config : configs)
    if (config.name == head.name && config.loss == head.loss) return config;
  HeadConfig config;  // from the model file if the run does not configure it
  config.name = head.name;
  config.loss = head.loss;
  config.targets = names_of(head.targets);
  return config;
}

/// Additional advice for data with fewer classes than the network.
std::string fewer_classes(const std::vector<std::string>& found,
                          const std::vector<std::string>& known) {
  if (found.size() >= known.size()) return "";
  if (found.size() == 1) return "; for files without labels, use `wellspring predict`";
  if (!std::ranges::equal(found, std::span(known).first(found.size()))) return "";
  return fmt::format("; for arrays whose labels lack the last class, set classes: {}",
                     known.size());
}

}  // namespace

ops::EmbeddingLoss HeadConfig::embedding_loss() const {
  ops::EmbeddingLoss made;
  if (loss == LossKind::alignment_uniformity)
    made.kind = ops::EmbeddingLossKind::alignment_uniformity;
  if (loss == LossKind::vicreg) made.kind = ops::EmbeddingLossKind::vicreg;
  made.views = static_cast<std::int32_t>(views);
  made.temperature = static_cast<float>(temperature);
  made.uniformity = static_cast<float>(uniformity);
  made.invariance = static_cast<float>(invariance);
  made.variance = static_cast<float>(variance);
  made.covariance = static_cast<float>(covariance);
  return made;
}

void place_heads(std::vector<HeadSpec>& heads) {
  std::vector<HeadSpec> placed;
  std::int32_t begin = 0;
  for (const OutputSpec& output : outputs_of(heads)) {
    std::int32_t row = 0;
    for (HeadSpec& head : heads) {
      if (head.output != output.name) continue;
      head.row = row;
      head.begin = begin;
      row += head.rows();
      begin += head.outputs();
      placed.push_back(head);
    }
  }
  heads = std::move(placed);
}

std::vector<OutputSpec> outputs_of(const std::vector<HeadSpec>& heads) {
  std::vector<OutputSpec> outputs;
  for (const HeadSpec& head : heads) {
    const auto same = std::ranges::find(outputs, head.output, &OutputSpec::name);
    if (same != outputs.end()) {
      same->width += head.rows();
      continue;
    }
    outputs.push_back({head.output, head.rows(), head.is_dense() || head.is_item()});
    if (head.is_masked()) outputs.back().patches = head.positions;
    if (head.is_embedding())
      outputs.back().hidden = {head.projection.begin(), head.projection.end() - 1};
  }
  return outputs;
}

std::vector<HeadSpec> make_heads(const std::vector<HeadConfig>& configs,
                                 const std::vector<SourceTruth>& sources) {
  std::vector<HeadSpec> heads;
  std::vector<bool> taught(sources.size(), false);
  for (const HeadConfig& config : configs) {
    HeadSpec head;
    head.name = config.name;
    head.loss = config.loss;
    head.output = !config.output.empty() ? config.output
                  : head.is_dense()      ? kPixelOutput
                  : head.is_item()       ? kItemOutput
                  : head.is_masked()     ? kPatchOutput
                                         : kSampleOutput;
    head.label_smoothing = static_cast<float>(config.label_smoothing);
    head.average_with = config.average_with;
    head.cross_entropy = config.cross_entropy;
    head.positives = config.positives;
    head.weight = static_cast<float>(config.weight);
    head.projection = config.projection;
    if (head.is_embedding()) head.embedding = config.embedding_loss();
    if (head.loss == LossKind::regression)
      head.law = make_law(config.error, config.delta, config.quantiles);
    bool first = true;
    for (std::size_t s = 0; s < sources.size(); ++s) {
      if (!teaches(sources[s], config)) continue;
      learn_of(head, config, sources[s], first);
      first = false;
      taught[s] = true;
    }
    if (first && has_targets(config.loss) && config.sources.empty())
      refuse_unknown_target(config, nullptr, sources);
    if (first && head.is_dense() && config.sources.empty())
      require_dense_labels(config, sources.front());
    if (first)
      fail(ErrorKind::config,
           {fmt::format("{}: no source trains it", prefix_of(config)),
            "a source names its head with `head` (default: the name of the source)",
            "list its `sources`, name it in a source, or remove it"});
    require_a_choice(config, head);
    require_variety(config, head, sources);
    require_equal_patches(config, head, sources);
    require_own_output(config, head, heads);
    heads.push_back(std::move(head));
  }
  for (const HeadConfig& config : configs) require_a_partner(config, heads);
  place_heads(heads);
  for (std::size_t s = 0; s < sources.size(); ++s)
    if (!taught[s])
      fail(ErrorKind::config,
           {fmt::format("source '{}' trains no head", sources[s].name),
            "its samples would have no effect",
            std::ranges::count(configs, sources[s].head, &HeadConfig::name) > 0
                ? fmt::format("head '{}' learns dense labels, which the source does not have",
                              sources[s].head)
                : fmt::format("add a head named '{}', or remove the source", sources[s].head)});
  return heads;
}

std::vector<HeadSources> feed_heads(const std::vector<HeadSpec>& heads,
                                    const std::vector<HeadConfig>& configs,
                                    const std::vector<SourceTruth>& sources) {
  std::vector<HeadSources> feeds;
  std::uint32_t fed = 0;
  for (const HeadSpec& head : heads) {
    const HeadConfig config = config_of(head, configs);
    HeadSources feed;
    for (std::size_t s = 0; s < sources.size(); ++s) {
      const SourceTruth& source = sources[s];
      if (!teaches(source, config)) continue;
      if (head.has_targets()) {
        if (!has_all_targets(source, config)) refuse_unknown_target(config, &source, {});
      } else if (const auto classes = classes_of(head.loss, source);
                 classes != head.classes || (head.is_dense() && source.pixels != head.positions)) {
        fail(ErrorKind::data,
             {fmt::format("source '{}' has {} ({}), but head '{}' has {} ({})", source.name,
                          counted(classes.size(), "class", "classes"), join(classes), head.name,
                          head.classes.size(), join(head.classes)),
              "each label must mean the same class in the network and in the data",
              "use data with the network's classes" + fewer_classes(classes, head.classes)});
      }
      feed.sources |= 1u << s;
      feed.weight[s] = source.loss_weight * head.weight;
      feed.target_width =
          std::max(feed.target_width, static_cast<std::int32_t>(source.targets.size()));
    }
    if (head.has_targets()) feed.column = columns_of(head, sources, feed.sources);
    fed |= feed.sources;
    feeds.push_back(std::move(feed));
  }
  for (std::size_t s = 0; s < sources.size(); ++s)
    if (((fed >> s) & 1u) == 0)
      fail(ErrorKind::config,
           {fmt::format("source '{}': the network has no head for it", sources[s].name),
            fmt::format("its labels belong to head '{}'", sources[s].head),
            "remove the source, or use a network trained with that head"});
  return feeds;
}

void expect_mixable(const std::vector<HeadConfig>& heads, const MixConfig& mix) {
  if (!mix.on()) return;
  for (const HeadConfig& head : heads) {
    if (!has_targets(head.loss) && head.loss != LossKind::pixel_class) continue;
    fail(ErrorKind::config, {fmt::format("{}: data.mix does not support loss {}", prefix_of(head),
                                         to_string(head.loss)),
                             "two mixed samples have no common latents or dense labels",
                             "remove data.mix, or train that head in a separate run"});
  }
}

bool has_held_out_loss(const std::vector<HeadSpec>& heads) {
  return !std::ranges::all_of(heads, &HeadSpec::is_self_supervised);
}

}  // namespace wellspring
