// Writes event records (generators/events/event_record.h) as text: Les Houches events (J. Alwall et
// al., hep-ph/0609017) or HepMC3 (A. Buckley et al., arXiv:1912.08005). Called by export_samples;
// host only.
#pragma once

#include "export/export.h"

#include <cstdint>
#include <filesystem>
#include <functional>

namespace wellspring {

/// True for names that end in .lhe, .hepmc or .hepmc3.
bool is_event_record(const std::filesystem::path& path);

/// Writes the events as they are made; memory use does not depend on their number. Momenta are in
/// GeV. The process number is the class plus 1. If the generator knows the cross section of each
/// class (SampleInfo::cross_sections), the mean weight of all events is the sum of these cross
/// sections in pb; otherwise the weights of the samples are kept and the cross sections are 1. The
/// number of a HepMC event is the sample's id modulo 2^31; in mixtures, events are counted from 0.
/// The parameters are in the header. Throws a config error unless the samples of all sources have
/// the columns of event records.
ExportReport export_event_records(SampleReader& feed, const std::filesystem::path& path,
                                  const std::function<void(std::uint64_t)>& progress);

}  // namespace wellspring
