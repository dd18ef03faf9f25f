// Parses decay rules and builds the tree of nodes. Host only.
#include "generators/events/decay_chain.h"

#include "core/error.h"
#include "core/text/plural.h"
#include "core/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace wellspring {
namespace {

/// Maximum fraction of the mother's mass that the products may have; the rest is kinetic energy.
constexpr double kLargestShare = 0.9999;

struct Decay {
  double mother = 0;
  std::vector<double> products;
  std::string text;
  bool used = false;
};

[[noreturn]] void refuse(const std::string& name, const std::string& text, const std::string& why,
                         const std::string& advice) {
  fail(ErrorKind::config, {fmt::format("{}: decay '{}'", name, printable(text)), why, advice});
}

constexpr const char* kAdvice =
    "write MOTHER -> PRODUCT + PRODUCT, masses in GeV, 2 or 3 products: 172.5 -> 80.377 + 4.78";

/// Parses a mass; returns false unless the whole text is a mass.
bool read_mass(std::string_view text, double& mass) {
  const std::string own(trim(text));
  char* end = nullptr;
  mass = std::strtod(own.c_str(), &end);
  return !own.empty() && end == own.c_str() + own.size() && mass >= 0 && mass <= 1e6;
}

Decay read_decay(const std::string& name, const std::string& text) {
  Decay decay;
  decay.text = text;
  const std::size_t arrow = text.find("->");
  if (arrow == std::string::npos) refuse(name, text, "it has no '->'", kAdvice);
  if (!read_mass(std::string_view(text).substr(0, arrow), decay.mother))
    refuse(name, text, "the text before -> is not a mass from 0 to 1e6 GeV", kAdvice);
  std::string_view rest = std::string_view(text).substr(arrow + 2);
  for (;;) {
    const std::size_t plus = rest.find('+');
    double mass = 0;
    if (!read_mass(rest.substr(0, plus), mass))
      refuse(name, text, "a product is not a mass from 0 to 1e6 GeV", kAdvice);
    decay.products.push_back(mass);
    if (plus == std::string_view::npos) break;
    rest.remove_prefix(plus + 1);
  }
  if (decay.products.size() < 2 || decay.products.size() > 3)
    refuse(name, text, "it has " + counted(decay.products.size(), "product"), kAdvice);
  double sum = 0;
  for (const double mass : decay.products) sum += mass;
  if (!(sum <= kLargestShare * decay.mother * (1 + 1e-12)))  // tolerates rounding of decimal masses
    refuse(name, text,
           fmt::format(
               "its products weigh {} GeV in total; the maximum is 0.9999 of the mother's mass",
               shortest(static_cast<float>(sum))),
           "lower the products' masses or raise the mother's");
  return decay;
}

std::vector<Decay> read_decays(const std::string& name, const std::vector<std::string>& texts) {
  std::vector<Decay> all;
  for (const std::string& text : texts) {
    Decay decay = read_decay(name, text);
    if (std::ranges::count(all, decay.mother, &Decay::mother) > 0)
      refuse(name, text, "this mass already has a decay", "give one decay per mass");
    all.push_back(std::move(decay));
  }
  return all;
}

}  // namespace

DecayChain::DecayChain(const std::string& name, const std::vector<double>& masses, int bodies,
                       const std::vector<std::string>& decays) {
  std::vector<Decay> rules = read_decays(name, decays);
  any_ = !rules.empty();
  if (!any_) return;
  for (std::size_t i = 0; i < masses.size() && i < kMostRoots; ++i) node_[i].mass = masses[i];
  // Products are appended to the nodes, so this loop visits them too.
  int nodes = kMostRoots;
  for (int i = 0; i < nodes; ++i) {
    if (i >= bodies && i < kMostRoots) continue;
    const auto rule = std::ranges::find(rules, node_[i].mass, &Decay::mother);
    if (rule == rules.end()) continue;
    rule->used = true;
    const int products = static_cast<int>(rule->products.size());
    if (nodes + products > kMostNodes)
      fail(ErrorKind::config, {name + ": too many particles in the decays",
                               fmt::format("the maximum, over all generations, is {}", kMostNodes),
                               "give fewer decays or bodies"});
    node_[i].first = nodes;
    node_[i].products = products;
    for (const double mass : rule->products) node_[nodes++].mass = mass;
    blocks_ += products == 3 ? kStride : 1;
  }
  for (const Decay& rule : rules) {
    if (!rule.used)
      refuse(name, rule.text, fmt::format("no particle has the mass {} GeV", shortest(rule.mother)),
             "copy the mass exactly from `masses` or from another decay");
  }
  if (finals(bodies) > kMostFinals)
    fail(ErrorKind::config,
         {fmt::format("{}: the decays end in {} particles", name, finals(bodies)),
          fmt::format("a set holds at most {}", kMostFinals), "give fewer decays or bodies"});
}

int DecayChain::finals(int bodies) const {
  int sum = 0;
  std::vector<int> waiting;
  for (int i = 0; i < bodies; ++i) waiting.push_back(i);
  while (!waiting.empty()) {
    const Node node = node_[waiting.back()];
    waiting.pop_back();
    sum += node.products == 0 ? 1 : 0;
    for (int i = 0; i < node.products; ++i) waiting.push_back(node.first + i);
  }
  return sum;
}

}  // namespace wellspring
