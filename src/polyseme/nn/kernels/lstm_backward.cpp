// Gradients of the projected LSTM through time, one layer, both directions.
//
// A step back is again two products, with the derivative of the cell fused into the first:
//   dm (rows, H)      = dh W_P^T    ->  gradients of the gates while dm is still in registers
//   dh before (rows, P) = dgates W_hh
// Gradients of the weights are products over all steps at once; see product.cpp.

#include "lstm.h"

// Phases: first the gradients of the last step's outputs are put together. Then in each step, last to first,
//   cell    parts of one panel of units
//   hidden  parts of one panel of columns and ROWS_OF_PART rows: dh before, added to the gradients of the step before
template <class K>
struct BackwardRunner {
    using Act = typename K::Act;
    const Job& job;
    const Direction& d;
    const int units, hidden_k, gates_k, unit_panels, columns, column_panels;
    Act* const dgates;
    const std::vector<size_t> starts;
    Buffer<Act> dh_packed;
    Buffer<float> dh, dcells;

    BackwardRunner(const Job& job, const Direction& d)
        : job(job), d(d), units(up(job.hidden_dim, LANES)), hidden_k(up(job.projection_dim, K::PACK)), gates_k(4 * units),
          unit_panels(up(units, PANEL) / PANEL), columns(up(job.projection_dim, PANEL)), column_panels(columns / PANEL),
          dgates(static_cast<Act*>(d.gradients.gates)), starts(first_rows(job)), dh_packed(rows() * columns),
          dh(rows() * columns), dcells(rows() * units) {
        std::memset(dh.data, 0, rows() * columns * sizeof(float));
        std::memset(dcells.data, 0, rows() * units * sizeof(float));
        for (size_t r = 0; r < rows(); ++r) {
            std::memcpy(dh.data + r * columns, d.gradients.hidden + r * job.projection_dim, job.projection_dim * sizeof(float));
            std::memcpy(dcells.data + r * units, d.gradients.cells + r * job.hidden_dim, job.hidden_dim * sizeof(float));
        }
    }
    size_t rows() const { return size_t(job.batch_sizes[0]); }

    std::vector<int32_t> phases() const {
        std::vector<int32_t> parts;
        for (int64_t step = job.steps; step >= 0; --step) {
            if (step < job.steps) parts.push_back(unit_panels);
            parts.push_back(column_panels * parts_of(job.batch_sizes[std::max<int64_t>(0, step - 1)], ROWS_OF_PART));
        }
        return parts;
    }

    void run(int phase, int part) {
        const int64_t step = job.steps - (phase + 1) / 2;
        if (phase % 2) {
            const int n = int(job.batch_sizes[step]);
            tiles(n, [&](auto size, int row) { this->template cell<decltype(size)::value>(part, row, step); });
        } else {
            const int first = part / column_panels * ROWS_OF_PART, panel = part % column_panels;
            if (step < job.steps) hidden(panel, first, step);
            if (step > 0) add_given(panel, first, step - 1);
        }
    }

    template <int M>
    void cell(int panel, int row, int64_t step) {
        typename K::Sum sum[M][4] = {};
        Vec dm[M][4] = {};
        const char* w = static_cast<const char*>(d.gradients.projection.panels) + size_t(panel) * sizeof(Act) * PANEL * hidden_k;
        K::template add<M>(sum, dh_packed.data + size_t(row) * columns, columns, w, hidden_k);
        finish<K, M>(sum, dm, d.gradients.projection, panel, nullptr);
        const Vec high = splat(job.cell_clip), low = splat(-job.cell_clip), zero{};
        for (int r = 0; r < M; ++r)
            for (int g = 0; g < 4 && panel * PANEL + g * LANES < units; ++g) {
                const int unit = panel * PANEL + g * LANES;
                const size_t at = starts[step] + row + r;
                const Act* gates = static_cast<const Act*>(d.saved.gates) + at * 4 * units + unit;
                const Vec admit = K::get(gates), keep = K::get(gates + units);
                const Vec candidate = K::get(gates + 2 * units), emit = K::get(gates + 3 * units);
                const Vec cell = load(d.saved.cells + at * units + unit);
                Vec before{};
                if (step > 0) {
                    before = load(d.saved.cells + (starts[step - 1] + row + r) * units + unit);
                } else {  // the caller's rows are not padded
                    const int64_t have = std::min<int64_t>(LANES, job.hidden_dim - unit);
                    float first[LANES] = {};
                    std::memcpy(first, d.gradients.first_cells + (row + r) * job.hidden_dim + unit, have * sizeof(float));
                    before = load(first);
                }
                const Vec squashed = 2.0f * sigmoid(2.0f * cell) - 1.0f;
                float* dc_at = dcells.data + size_t(row + r) * units + unit;
                Vec dc = load(dc_at) + dm[r][g] * emit * (1.0f - squashed * squashed);
                dc = (cell < high) & (cell > low) ? dc : zero;  // a clipped cell has no gradient
                Act* out = dgates + at * 4 * units + unit;
                K::put(out, dc * candidate * admit * (1.0f - admit));
                K::put(out + units, dc * before * keep * (1.0f - keep));
                K::put(out + 2 * units, dc * admit * (1.0f - candidate * candidate));
                K::put(out + 3 * units, dm[r][g] * squashed * emit * (1.0f - emit));
                store(dc_at, dc * keep);
            }
    }

    // dh before a step, for rows from ``first`` on that take part in it.
    void hidden(int panel, int first, int64_t step) {
        const int count = std::min(ROWS_OF_PART, int(job.batch_sizes[step]) - first);
        if (count <= 0) return;
        typename K::Sum sums[ROWS_OF_PART][4] = {};
        const char* w = static_cast<const char*>(d.gradients.recurrent.panels) + size_t(panel) * sizeof(Act) * PANEL * gates_k;
        add_panel<K>(sums, dgates + (starts[step] + first) * gates_k, gates_k, w, gates_k, count);
        for (int r = 0; r < count; ++r)
            std::memcpy(dh.data + size_t(first + r) * columns + panel * PANEL, sums[r], sizeof sums[r]);
    }

    // Adds the given gradients of a step's outputs; a clipped output has none.
    void add_given(int panel, int first, int64_t step) {
        const int last = std::min(first + ROWS_OF_PART, int(job.batch_sizes[step]));
        const int64_t width = job.projection_dim;
        for (int r = first; r < last; ++r)
            for (int column = panel * PANEL; column < (panel + 1) * PANEL; column += LANES) {
                const int64_t have = std::max<int64_t>(0, std::min<int64_t>(LANES, width - column));
                const size_t at = (starts[step] + r) * width + column;
                float given[LANES] = {}, output[LANES] = {}, kept[LANES] = {};
                std::memcpy(given, d.gradients.outputs + at, have * sizeof(float));
                std::memcpy(output, d.outputs + at, have * sizeof(float));
                const float* sum = dh.data + size_t(r) * columns + column;
                for (int i = 0; i < LANES; ++i) kept[i] = std::fabs(output[i]) < job.projection_clip ? sum[i] + given[i] : 0.0f;
                std::memcpy(d.gradients.projected + at, kept, have * sizeof(float));
                K::put(dh_packed.data + size_t(r) * columns + column, load(kept));
            }
    }

    void finish_states() {
        for (size_t r = 0; r < rows(); ++r) {
            std::memcpy(d.gradients.hidden + r * job.projection_dim, dh.data + r * columns, job.projection_dim * sizeof(float));
            std::memcpy(d.gradients.cells + r * job.hidden_dim, dcells.data + r * units, job.hidden_dim * sizeof(float));
        }
    }
};

extern "C" {
void polyseme_lstm_backward_float32(const Job* job) { run_layer<BackwardRunner<Float32>>(*job); }
#if defined(__AVX512BF16__)
void polyseme_lstm_backward_bfloat16(const Job* job) { run_layer<BackwardRunner<BFloat16>>(*job); }
#endif
}
