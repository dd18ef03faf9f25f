// Event records: sets whose items are the particles of an event, with PDG number, status and
// mothers as in a Les Houches file (J. Alwall et al., hep-ph/0609017). Mothers precede their
// daughters. Generators write them if `columns` is `record`; export reads them for LHE and HepMC3
// files. For host and device, but columns() is host only.
#pragma once

#include "generators/sample_info.h"
#include "kernels/runtime/macros.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wellspring::record {

/// E, px, py, pz, m, pdg, status, mother1, mother2.
inline constexpr int kColumns = 9;
/// Largest PDG number: a float holds it exactly.
inline constexpr int kLargestId = 1 << 24;
enum class Status : std::int8_t { incoming = -1, final = 1, decayed = 2 };

/// Everything except the momentum. Mothers are 1-based item indices; 0: none.
struct Tag {
  float mass;
  int pdg;
  Status status;
  int mother1, mother2 = 0;
};

template <class Row>
WS_INLINE void write(Row& row, int item, float e, float x, float y, float z, const Tag& tag) {
  const float values[kColumns] = {e,
                                  x,
                                  y,
                                  z,
                                  tag.mass,
                                  static_cast<float>(tag.pdg),
                                  static_cast<float>(tag.status),
                                  static_cast<float>(tag.mother1),
                                  static_cast<float>(tag.mother2)};
  row.set_item(item, values);
}

/// Names and units of the columns.
inline std::vector<ValueInfo> columns(const std::string& unit) {
  return {{"E", unit}, {"px", unit},   {"py", unit},    {"pz", unit},   {"m", unit},
          {"pdg", ""}, {"status", ""}, {"mother1", ""}, {"mother2", ""}};
}

/// Help of the value `record` of the parameter `columns`.
inline constexpr const char* kHelp =
    "record: every particle with mass, PDG number, status and mothers, for LHE and HepMC files";

}  // namespace wellspring::record
