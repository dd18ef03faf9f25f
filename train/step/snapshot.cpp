#include "train/step/snapshot.h"

#include <fmt/format.h>

#include <algorithm>

namespace wellspring {

void Snapshot::save(Stream& stream, const std::vector<StateBlock>& blocks) {
  copies_.resize(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    copies_[i].resize(blocks[i].bytes);
    stream.copy(copies_[i].data(), blocks[i].data, blocks[i].bytes, CopyDirection::device_to_host,
                "save state");
  }
  stream.synchronize();
}

void Snapshot::restore(Stream& stream, const std::vector<StateBlock>& blocks) const {
  WS_EXPECT(copies_.size() == blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i)
    stream.copy(blocks[i].data, copies_[i].data(), blocks[i].bytes, CopyDirection::host_to_device,
                "restore state");
  stream.synchronize();
}

std::string Snapshot::difference(const Snapshot& other,
                                 const std::vector<StateBlock>& blocks) const {
  WS_EXPECT(copies_.size() == blocks.size() && other.copies_.size() == blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto at = std::mismatch(copies_[i].begin(), copies_[i].end(), other.copies_[i].begin());
    if (at.first != copies_[i].end())
      return fmt::format("{}, byte {}", blocks[i].name, at.first - copies_[i].begin());
  }
  return "";
}

std::vector<std::uint8_t> stored_bytes(Stream& stream, std::vector<StateBlock> blocks) {
  std::erase_if(blocks,
                [](const StateBlock& block) { return block.persistence != Persistence::stored; });
  Snapshot snapshot;
  snapshot.save(stream, blocks);
  std::vector<std::uint8_t> all;
  for (const auto& copy : snapshot.copies()) all.insert(all.end(), copy.begin(), copy.end());
  return all;
}

}  // namespace wellspring
