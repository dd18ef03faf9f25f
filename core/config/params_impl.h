// The templates of core/config/params.h: they reach the member, the rest is in params.cpp.
// Included by core/config/params.h only; host only.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <type_traits>

namespace wellspring {

namespace detail {

/// The bounds, narrowed to what a member of this type can hold and text is parsed to: int64 or
/// double.
template <class Member>
Bounds within_type(Bounds bounds) {
  using Limits = std::numeric_limits<Member>;
  const double high = std::is_integral_v<Member>
                          ? std::min(static_cast<double>(Limits::max()),
                                     static_cast<double>(std::numeric_limits<std::int64_t>::max()))
                          : static_cast<double>(Limits::max());
  return {std::max(bounds.low, static_cast<double>(Limits::lowest())), std::min(bounds.high, high)};
}

inline ParamRow make_row(std::string name, ParamType type, Bounds bounds, std::string unit,
                         std::string help, std::string source) {
  ParamRow row;
  row.name = std::move(name);
  row.type = type;
  row.unit = std::move(unit);
  row.low = bounds.low;
  row.high = bounds.high;
  row.help = std::move(help);
  row.source = std::move(source);
  return row;
}

template <class Struct, class Member>
std::function<void(void*)> resetter(Member Struct::*member) {
  return [member](void* target) { static_cast<Struct*>(target)->*member = Struct{}.*member; };
}

}  // namespace detail

template <class Struct>
template <class Value, class Member>
ParamTable<Struct>& ParamTable<Struct>::add(ParamRow row, Member Struct::*member) {
  return add_bound({.row = std::move(row),
                    .put =
                        [member](void* target, const detail::ParamValue& value) {
                          static_cast<Struct*>(target)->*member =
                              static_cast<Member>(std::get<Value>(value));
                        },
                    .get = [member](const void* target) -> detail::ParamValue {
                      const Member& held = static_cast<const Struct*>(target)->*member;
                      if constexpr (std::is_same_v<Member, float>) {
                        return held;
                      } else {
                        return static_cast<Value>(held);
                      }
                    },
                    .reset = detail::resetter(member)});
}

template <class Struct>
ParamTable<Struct>& ParamTable<Struct>::add_bound(detail::BoundRow bound) {
  for (const detail::BoundRow& other : table_.rows) {
    if (other.row.name == bound.row.name) {
      throw std::logic_error("parameter '" + bound.row.name + "' stands twice in " + section());
    }
  }
  if (!(bound.row.low < bound.row.high)) {  // {0, {}} for {0}: the end would be 0, not open
    throw std::logic_error("parameter '" + bound.row.name + "' has an empty range in " + section());
  }
  const Struct defaults{};
  bound.row.default_text = detail::param_text(bound.row, bound.get(&defaults));
  table_.rows.push_back(std::move(bound));
  return *this;
}

template <class Struct>
template <class Real>
ParamTable<Struct>& ParamTable<Struct>::real(std::string name, Real Struct::*member, Bounds bounds,
                                             std::string unit, std::string help,
                                             std::string source) {
  static_assert(std::is_floating_point_v<Real>);
  return add<double>(
      detail::make_row(std::move(name), ParamType::real, detail::within_type<Real>(bounds),
                       std::move(unit), std::move(help), std::move(source)),
      member);
}

template <class Struct>
template <class Integer>
ParamTable<Struct>& ParamTable<Struct>::integer(std::string name, Integer Struct::*member,
                                                Bounds bounds, std::string unit, std::string help,
                                                std::string source) {
  static_assert(std::is_integral_v<Integer> && !std::is_same_v<Integer, bool>);
  return add<std::int64_t>(
      detail::make_row(std::move(name), ParamType::integer, detail::within_type<Integer>(bounds),
                       std::move(unit), std::move(help), std::move(source)),
      member);
}

template <class Struct>
ParamTable<Struct>& ParamTable<Struct>::flag(std::string name, bool Struct::*member,
                                             std::string help, std::string source) {
  return add<bool>(detail::make_row(std::move(name), ParamType::flag, {}, "", std::move(help),
                                    std::move(source)),
                   member);
}

template <class Struct>
ParamTable<Struct>& ParamTable<Struct>::text(std::string name, std::string Struct::*member,
                                             std::string help) {
  return add<std::string>(
      detail::make_row(std::move(name), ParamType::text, {}, "", std::move(help), ""), member);
}

template <class Struct>
ParamTable<Struct>& ParamTable<Struct>::real_list(std::string name,
                                                  std::vector<double> Struct::*member,
                                                  Bounds bounds, std::string unit, std::string help,
                                                  std::string source) {
  return add<std::vector<double>>(
      detail::make_row(std::move(name), ParamType::real_list, detail::within_type<double>(bounds),
                       std::move(unit), std::move(help), std::move(source)),
      member);
}

template <class Struct>
template <class Integer>
ParamTable<Struct>& ParamTable<Struct>::integer_list(std::string name,
                                                     std::vector<Integer> Struct::*member,
                                                     Bounds bounds, std::string unit,
                                                     std::string help, std::string source) {
  static_assert(std::is_integral_v<Integer> && !std::is_same_v<Integer, bool>);
  using List = std::vector<std::int64_t>;
  return add_bound({.row = detail::make_row(std::move(name), ParamType::integer_list,
                                            detail::within_type<Integer>(bounds), std::move(unit),
                                            std::move(help), std::move(source)),
                    .put =
                        [member](void* target, const detail::ParamValue& value) {
                          std::vector<Integer>& held = static_cast<Struct*>(target)->*member;
                          held.clear();
                          for (const std::int64_t element : std::get<List>(value)) {
                            held.push_back(static_cast<Integer>(element));
                          }
                        },
                    .get = [member](const void* target) -> detail::ParamValue {
                      const std::vector<Integer>& held =
                          static_cast<const Struct*>(target)->*member;
                      return List(held.begin(), held.end());
                    },
                    .reset = detail::resetter(member)});
}

template <class Struct>
ParamTable<Struct>& ParamTable<Struct>::text_list(std::string name,
                                                  std::vector<std::string> Struct::*member,
                                                  std::string help) {
  return add<std::vector<std::string>>(
      detail::make_row(std::move(name), ParamType::text_list, {}, "", std::move(help), ""), member);
}

template <class Struct>
template <class Enum>
ParamTable<Struct>& ParamTable<Struct>::choice(std::string name, Enum Struct::*member,
                                               std::vector<std::pair<std::string, Enum>> choices,
                                               std::string help, std::string source) {
  static_assert(std::is_enum_v<Enum>);
  ParamRow row = detail::make_row(std::move(name), ParamType::choice, {}, "", std::move(help),
                                  std::move(source));
  std::vector<Enum> values;
  for (auto& [text, value] : choices) {
    row.choices.push_back(std::move(text));
    values.push_back(value);
  }
  // A choice travels as its index; `values` leads from it to the enumerator and back.
  return add_bound({.row = std::move(row),
                    .put =
                        [member, values](void* target, const detail::ParamValue& value) {
                          static_cast<Struct*>(target)->*member =
                              values[static_cast<std::size_t>(std::get<std::int64_t>(value))];
                        },
                    .get = [member, values](const void* target) -> detail::ParamValue {
                      const auto found = std::find(values.begin(), values.end(),
                                                   static_cast<const Struct*>(target)->*member);
                      if (found == values.end())
                        throw std::logic_error("an enumerator has no name");
                      return static_cast<std::int64_t>(found - values.begin());
                    },
                    .reset = detail::resetter(member)});
}

template <class Struct>
ParamTable<Struct>& ParamTable<Struct>::required() {
  table_.rows.back().row.required = true;
  table_.rows.back().row.default_text.clear();
  return *this;
}

template <class Struct>
ParamTable<Struct>& ParamTable<Struct>::only_where(bool (*matters)(const Struct&),
                                                   std::string effect) {
  detail::BoundRow& last = table_.rows.back();
  last.row.effect = std::move(effect);
  last.matters = [matters](const void* values) {
    return matters(*static_cast<const Struct*>(values));
  };
  return *this;
}

template <class Struct>
ParamTable<Struct>& ParamTable<Struct>::may_change() {
  table_.rows.back().row.may_change = true;
  return *this;
}

template <class Struct>
ParamTable<Struct>& ParamTable<Struct>::preset(
    std::string name, std::vector<std::pair<std::string, std::string>> settings, std::string help) {
  ParamPreset preset{std::move(name), std::move(help), {}};
  for (auto& [row, value] : settings) {
    preset.settings.push_back({std::move(row), std::move(value), {}});
  }
  detail::add_preset(table_, std::move(preset));
  Struct values{};
  // Every setting is one that can be made.
  detail::set_param(table_, &values, {kPresetKey, table_.presets.back().name, {}});
  return *this;
}

}  // namespace wellspring
