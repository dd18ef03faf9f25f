// The table of augmentation operations, built from their list, and the tables of other settings.
#include "core/expect.h"
#include "kernels/augment/augmentation_config.h"

#include <algorithm>

namespace wellspring {
namespace {

template <class Op>
AugmentEntry make_entry() {
  const OperationInfo& info = Op::kInfo;
  return {info.op, info.name, info.main, info.summary, info.source, OperationParams<Op>{}};
}

}  // namespace

std::vector<ParamRow> AugmentEntry::rows() const {
  return std::visit([]<class P>(const P&) { return params_table<typename P::Operation>().rows(); },
                    defaults);
}

AugmentOp AugmentSetting::op() const {
  return std::visit([]<class P>(const P&) { return op_of<typename P::Operation>; }, params);
}

AugmentStage AugmentSetting::stage() const {
  return std::visit(
      []<class P>(const P& p) {
        using Op = typename P::Operation;
        if constexpr (Op::kInfo.stage == AugmentStage::colour && requires { &P::needs_pass; })
          return p.needs_pass() ? AugmentStage::whole : AugmentStage::colour;
        return Op::kInfo.stage;
      },
      params);
}

std::string AugmentSetting::where() const {
  return place.prefix() + "augment." + augmentation_entry(op()).name;
}

const ParamTable<GroupSetting>& group_table(GroupKind kind) {
  static const ParamTable<GroupSetting> tables[] = {
      ParamTable<GroupSetting>("augment.apply")
          .real("apply", &GroupSetting::probability, {0, 1}, "",
                "probability of applying all operations in `of`; otherwise they are skipped"),
      ParamTable<GroupSetting>("augment.one_of")
          .real_list("weights", &GroupSetting::weights, {0, 1e6}, "",
                     "chances of the members, in proportion; empty: equal"),
      ParamTable<GroupSetting>("augment.random_order")};
  return tables[static_cast<std::size_t>(kind)];
}

const char* group_name(GroupKind kind) {
  constexpr const char* kNames[] = {"apply", "one_of", "random_order"};
  return kNames[static_cast<std::size_t>(kind)];
}

const char* group_help(GroupKind kind) {
  constexpr const char* kHelp[] = {
      "`apply: 0.8` and `of: [...]`: apply all members, or none",
      "`one_of: [...]`: choose one member per sample; it still has its own probability",
      "`random_order: [...]`: apply colour operations in random order"};
  return kHelp[static_cast<std::size_t>(kind)];
}

const char* group_list(GroupKind kind) {
  return kind == GroupKind::apply ? "of" : group_name(kind);
}

const std::vector<AugmentEntry>& augmentation_table() {
  static const auto table = [] {
    std::vector<AugmentEntry> entries;
    augment::ListedOperations::each([&]<class Op>() { entries.push_back(make_entry<Op>()); });
    return entries;
  }();
  return table;
}

const AugmentEntry& augmentation_entry(AugmentOp op) {
  const auto& table = augmentation_table();
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const AugmentEntry& entry) { return entry.op == op; });
  WS_EXPECT(found != table.end());
  return *found;
}

const ParamTable<ColumnScaling>& normalisation_table() {
  static const auto table =
      ParamTable<ColumnScaling>("normalise")
          .real_list("mean", &ColumnScaling::mean, {-3e38, 3e38}, "",
                     "subtracted from colours in [0, 1], or from features; one value, or one per "
                     "channel or feature")
          .real_list("std", &ColumnScaling::std, {kLeastStd, 3e38}, "",
                     "divisor applied after `mean`; one value, or one per channel or feature");
  return table;
}

const ParamTable<Augmentations>& reading_table() {
  static const auto table =
      ParamTable<Augmentations>("augment")
          .choice("padding", &Augmentations::padding,
                  {{"zero", Padding::zero}, {"edge", Padding::edge}},
                  "pixel values beyond the border of stored images")
          .choice("interpolation", &Augmentations::interpolation,
                  {{"bilinear", Interpolation::bilinear}, {"bicubic", Interpolation::bicubic}},
                  "interpolation of stored images and rendered canvases between pixel centres")
          .integer("centre_crop", &Augmentations::centre_crop, {0, 16384}, "pixels",
                   "held-out images: length of the shorter side before a crop from the centre, as "
                   "torchvision's Resize and CenterCrop; 0: the whole image is resized");
  return table;
}

}  // namespace wellspring
