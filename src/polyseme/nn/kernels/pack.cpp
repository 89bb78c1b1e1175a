// Puts weights into the order described in common.h.

#include "common.h"
#include "share.h"

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
    share(int(job.threads), job.columns / PANEL, [&](int64_t first, int64_t last) {
        for (int64_t panel = first; panel < last; ++panel) {
            Act* out = static_cast<Act*>(job.panels) + panel * padded * PANEL;
            std::memset(out, 0, padded * PANEL * sizeof(Act));
            for (int64_t lane = 0; lane < PANEL; ++lane) {
                const int64_t row = job.order[panel * PANEL + lane];
                if (row < 0) continue;
                const float* from = job.source + row * job.row_stride;
                for (int64_t k = 0; k < job.depth; ++k)
                    out[(k / K::PACK * PANEL + lane) * K::PACK + k % K::PACK] = K::one(from[k * job.k_stride]);
            }
        }
    });
}

extern "C" {
void polyseme_pack_float32(const PackJob* job) { run_pack<Float32>(*job); }
#if defined(__AVX512BF16__)
void polyseme_pack_bfloat16(const PackJob* job) { run_pack<BFloat16>(*job); }
#endif
}
