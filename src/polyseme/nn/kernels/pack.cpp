// Puts weights into the order described in common.h.

#include "panels.h"
#include "pool.h"

extern "C" {
struct PackJob {
    const float* source;   // element (row, k) at row * row_stride + k * k_stride
    const int64_t* order;  // (columns,) the source row of each packed column, -1 for a column of zeros
    void* panels;
    int64_t row_stride, k_stride, depth, columns, threads;
};
}

template <class K>
static void run_pack(const PackJob& job) {
    using Act = typename K::Act;
    const int64_t padded = up(job.depth, K::PACK);
    const Source source{job.source, job.row_stride, job.k_stride, false};
    share(job.threads, job.columns / LANES, [&](int64_t group) {
        Act* out = static_cast<Act*>(job.panels) + group / 4 * padded * PANEL + group % 4 * LANES * K::PACK;
        const int64_t* order = job.order + group * LANES;
        int have = 0;  // columns from the first on that are neighbours in the source
        while (have < LANES && order[have] >= 0 && order[have] == order[0] + have) ++have;
        pack_lanes<K>(source, have ? order[0] : 0, have, 0, job.depth, out, PANEL * K::PACK);
        for (int lane = have; lane < LANES; ++lane)
            for (int64_t k = 0; order[lane] >= 0 && k < job.depth; ++k)
                out[(k / K::PACK * PANEL + lane) * K::PACK + k % K::PACK] = K::one(source.at(order[lane], k));
    });
}

extern "C" {
void polyseme_pack_float32(const PackJob* job) { run_pack<Float32>(*job); }
#if defined(__AVX512BF16__)
void polyseme_pack_bfloat16(const PackJob* job) { run_pack<BFloat16>(*job); }
#endif
}
