#include "bench/gpu/launch_bounds.h"
#include "generators/events/calo_gflash.h"
#include "generators/images/ifs.h"
#include "generators/images/visual_atom.h"
#include "kernels/runtime/launch.cuh"

#define WS_BOUNDED(Kernel, F, blocks) \
  WS_CUDA_TEAM(wellspring::bench::Bounded<wellspring::Kernel<F, wellspring::bf16>, blocks>)

WS_BOUNDED(MakeEventsInTeams, wellspring::CaloGflash, 1);
WS_BOUNDED(MakeEventsInTeams, wellspring::CaloGflash, 2);
WS_BOUNDED(MakeEventsInTeams, wellspring::CaloGflash, 3);
WS_BOUNDED(MakeEventsInTeams, wellspring::CaloGflash, 4);
WS_BOUNDED(PaintBandInScratch, wellspring::VisualAtom, 1);
WS_BOUNDED(PaintBandInScratch, wellspring::VisualAtom, 2);
WS_BOUNDED(PaintCanvasInScratch, wellspring::Ifs, 1);
WS_BOUNDED(PaintCanvasInScratch, wellspring::Ifs, 2);
