// Parses decay rules and builds the tree of nodes. Host only.
#include "generators/events/decay_chain.h"

#include "core/error.h"
#include "core/text/plural.h"
#include "core/text/text.h"
#include "generators/events/event_record.h"

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

std::vector<int> read_ids(const std::string& name, const std::string& text) {
  std::vector<int> ids;
  for (std::string_view rest = text;;) {
    const std::size_t plus = rest.find('+');
    const std::string own(trim(rest.substr(0, plus)));
    char* end = nullptr;
    const long id = std::strtol(own.c_str(), &end, 10);
    if (own.empty() || end != own.c_str() + own.size() || std::abs(id) > record::kLargestId ||
        id == 0)
      refuse(name, text, "a product is not a PDG number",
             "write the numbers of the products as 5 + 24 or 2 + -1");
    ids.push_back(static_cast<int>(id));
    if (plus == std::string_view::npos) return ids;
    rest.remove_prefix(plus + 1);
  }
}

/// PDG Monte Carlo particle numbering scheme; the listed particles are their own antiparticles.
int antiparticle(int pdg) {
  constexpr int kNeutral[] = {21, 22, 23, 25, 111, 113, 130, 221, 223, 310, 331, 333, 443, 553};
  return std::ranges::count(kNeutral, pdg) > 0 ? pdg : -pdg;
}

}  // namespace

DecayChain::DecayChain(const std::string& name, const std::vector<double>& masses, int bodies,
                       const std::vector<std::string>& decays) {
  std::vector<Decay> rules = read_decays(name, decays);
  any_ = !rules.empty();
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
    node_[i].rule = static_cast<int>(rule - rules.begin());
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

void DecayChain::identify(const std::string& name, int bodies, const std::vector<std::int32_t>& ids,
                          const std::vector<std::string>& decays) {
  if (ids.size() != static_cast<std::size_t>(bodies))
    fail(ErrorKind::config, {fmt::format("{}: ids has {} PDG numbers", name, ids.size()),
                             fmt::format("records name each of the {} bodies", bodies),
                             "give one number per body, such as ids=[6, -6]"});
  std::vector<std::vector<int>> products;
  for (const std::string& text : decays) products.push_back(read_ids(name, text));
  for (int i = 0; i < bodies; ++i) node_[i].pdg = ids[static_cast<std::size_t>(i)];
  const std::vector<int> order = ordered(bodies);
  for (std::size_t item = 0; item < order.size(); ++item) {
    Node& node = node_[order[item]];
    node.item = static_cast<int>(item);
    if (node.products == 0) continue;
    const auto rule = static_cast<std::size_t>(node.rule);
    if (rule >= products.size() || products[rule].size() != static_cast<std::size_t>(node.products))
      fail(ErrorKind::config,
           {fmt::format("{}: decay_ids does not name the products of decay {}", name, rule + 1),
            "records name each particle",
            "give one text per decay, with one PDG number per product: '5 + 24'"});
    for (int k = 0; k < node.products; ++k) {
      const int pdg = products[rule][static_cast<std::size_t>(k)];
      node_[node.first + k].pdg = node.pdg < 0 ? antiparticle(pdg) : pdg;
      node_[node.first + k].mother = node.item;
    }
  }
}

std::vector<int> DecayChain::ordered(int bodies) const {
  std::vector<int> order, waiting;
  for (int i = bodies; i > 0; --i) waiting.push_back(i - 1);
  while (!waiting.empty()) {
    const int i = waiting.back();
    waiting.pop_back();
    order.push_back(i);
    for (int k = node_[i].products; k > 0; --k) waiting.push_back(node_[i].first + k - 1);
  }
  return order;
}

int DecayChain::particles(int bodies) const {
  return static_cast<int>(ordered(bodies).size());
}

int DecayChain::finals(int bodies) const {
  const std::vector<int> order = ordered(bodies);
  return static_cast<int>(
      std::ranges::count_if(order, [this](int i) { return node_[i].products == 0; }));
}

}  // namespace wellspring
