#include "kernels/ops/embedding_teams.h"
#include "kernels/runtime/launch.cuh"

WS_CUDA_TEAM(wellspring::ops::NormaliseEmbeddings);
WS_CUDA_TEAM(wellspring::ops::CompareEmbeddings);
WS_CUDA_TEAM(wellspring::ops::ContrastEmbeddings<float>);
WS_CUDA_TEAM(wellspring::ops::ContrastEmbeddings<wellspring::bf16>);
WS_CUDA_TEAM(wellspring::ops::CentreEmbeddings);
WS_CUDA_TEAM(wellspring::ops::CovarianceOfEmbeddings);
WS_CUDA_TEAM(wellspring::ops::RegulariseEmbeddings<float>);
WS_CUDA_TEAM(wellspring::ops::RegulariseEmbeddings<wellspring::bf16>);
