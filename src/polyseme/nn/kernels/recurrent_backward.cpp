// Gradients of the LSTMs of recurrent.cpp through time.
//
// A step back is one product, dh = (gradients of the gates one step later) U, with the derivative of the cell fused into it.
// Gradients of weights and inputs are products over all steps at once; see product.cpp.

#include "recurrent.h"

// Phases: each step, last to first, in parts of one panel of units (4 * LANES) and ROWS_OF_STEP rows.
template <class K, bool HIGHWAY>
struct RecurrentBackward {
    using Act = typename K::Act;
    const RecurrentJob& job;
    const RecurrentLane& d;
    const Layout<HIGHWAY> layout;
    const int units, gates_k;
    const std::vector<size_t> starts;
    Buffer<Act> gates[2];  // (B, gates_k) of the gates one step later, read while those of this step are written
    Buffer<float> cells;   // (B, units) of the cells before a step

    RecurrentBackward(const RecurrentJob& job, const RecurrentLane& d)
        : job(job), d(d), layout(job.hidden_dim), units(layout.units), gates_k(up(layout.GATES * job.hidden_dim, K::PACK)),
          starts(first_places(job)), gates{Buffer<Act>(rows() * gates_k), Buffer<Act>(rows() * gates_k)}, cells(rows() * units) {
        for (Buffer<Act>& one : gates) std::memset(one.data, 0, rows() * gates_k * sizeof(Act));  // also beyond the last gate
        std::memset(cells.data, 0, rows() * units * sizeof(float));
        for (size_t r = 0; r < rows(); ++r)
            std::memcpy(cells.data + r * units, d.given_cells + r * job.hidden_dim, job.hidden_dim * sizeof(float));
    }
    size_t rows() const { return size_t(job.batch_sizes[0]); }

    std::vector<int32_t> phases() const {
        std::vector<int32_t> parts;
        for (int64_t step = job.steps - 1; step >= 0; --step) parts.push_back(layout.groups * blocks_of(job.batch_sizes[step], ROWS_OF_STEP));
        return parts;
    }

    void run(int phase, int part) {
        const int64_t step = job.steps - 1 - phase;
        const int group = part % layout.groups, first = part / layout.groups * ROWS_OF_STEP;
        const int count = std::min(ROWS_OF_STEP, int(job.batch_sizes[step]) - first);
        typename K::Sum sums[ROWS_OF_STEP][4] = {};
        const int later = step + 1 < job.steps ? std::min(count, int(job.batch_sizes[step + 1]) - first) : 0;
        if (later > 0) {
            const char* w = static_cast<const char*>(d.recurrent.panels) + size_t(group) * sizeof(Act) * PANEL * gates_k;
            add_panel<K>(sums, gates[(step + 1) % 2].data + size_t(first) * gates_k, gates_k, w, gates_k, later);
        }
        for (int r = 0; r < count; ++r)
            for (int g = 0; g < 4 && group * 4 + g < layout.unit_panels; ++g) back(sums[r][g], group * 4 + g, first + r, step);
    }

    // From the gradient of h, as far as it comes from the step after, to those of the gates and of the cells before.
    void back(Vec dh, int panel, int row, int64_t step) {
        using L = Layout<HIGHWAY>;
        const int64_t width = job.hidden_dim, unit = panel * LANES, have = width - unit;
        const size_t place = starts[step] + row, at = d.places ? size_t(d.places[place]) : place;
        const float* sums = d.sums + at * layout.width;
        const Vec admit = load(sums + panel * PANEL), keep = load(sums + panel * PANEL + LANES);
        const Vec candidate = load(sums + panel * PANEL + 2 * LANES), emit = load(sums + panel * PANEL + 3 * LANES);
        const Vec squashed = tanh(load(d.cells + place * units + unit));
        Act* own = gates[step % 2].data + size_t(row) * gates_k + unit;
        Act* all = static_cast<Act*>(d.gradients) + at * L::BLOCKS * width + unit;
        const auto put = [&](int gate, Vec gradient) {
            put_some<K>(own + gate * width, gradient, have);
            put_some<K>(all + gate * width, gradient, have);
        };
        dh += load_some(d.given + at * job.stride + unit, have);
        if (d.mask) dh *= load_some(d.mask + size_t(row) * width + unit, have);
        if constexpr (HIGHWAY) {
            const Vec through = load(sums + layout.through(panel)), carried = load(sums + layout.carried(panel));
            put(L::THROUGH, dh * (emit * squashed - carried) * through * (1.0f - through));
            put_some<K>(all + L::CARRIED * width, dh * (1.0f - through), have);
            dh *= through;
        }
        float* before = cells.data + size_t(row) * units + unit;
        const Vec dc = load(before) + dh * emit * (1.0f - squashed * squashed);
        const Vec last = step > 0 ? load(d.cells + (starts[step - 1] + row) * units + unit) : Vec{};
        put(L::ADMIT, dc * candidate * admit * (1.0f - admit));
        put(L::KEEP, dc * last * keep * (1.0f - keep));
        put(L::CANDIDATE, dc * admit * (1.0f - candidate * candidate));
        put(L::EMIT, dh * squashed * emit * (1.0f - emit));
        store(before, dc * keep);
    }
};

extern "C" {
void polyseme_recurrent_backward_float32(const RecurrentJob* job) { run_recurrent<RecurrentBackward<Float32, false>>(*job); }
void polyseme_highway_recurrent_backward_float32(const RecurrentJob* job) { run_recurrent<RecurrentBackward<Float32, true>>(*job); }
#if defined(__AVX512BF16__)
void polyseme_recurrent_backward_bfloat16(const RecurrentJob* job) { run_recurrent<RecurrentBackward<BFloat16, false>>(*job); }
void polyseme_highway_recurrent_backward_bfloat16(const RecurrentJob* job) { run_recurrent<RecurrentBackward<BFloat16, true>>(*job); }
#endif
}
