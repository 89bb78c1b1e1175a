// Gradients of the projected LSTM through time, one layer, both directions.
//
// A step back is again two products, with the derivative of the cell fused into the first:
//   dm (rows, H)      = dh W_P^T    ->  gradients of the gates while dm is still in registers
//   dh before (rows, P) = dgates W_hh
// Gradients of the weights are products over all steps at once, which torch computes.

#include "lstm.h"

template <class K>
struct BackwardRunner : Team {
    using Act = typename K::Act;
    const Job& job;
    const Direction& d;
    const int units, hidden_k, gates_k, unit_panels, columns, column_panels;
    Act* const dgates;
    std::vector<size_t> starts;
    Buffer<Act> dh_packed;
    Buffer<float> dh, dcells, dh_scale;

    BackwardRunner(const Job& job, const Direction& d, int team)
        : Team(team), job(job), d(d), units(up(job.hidden_dim, LANES)), hidden_k(up(job.projection_dim, K::PACK)),
          gates_k(4 * units), unit_panels(up(units, PANEL) / PANEL), columns(up(job.projection_dim, PANEL)),
          column_panels(columns / PANEL), dgates(static_cast<Act*>(d.gradients.gates)), dh_packed(rows() * hidden_k),
          dh(rows() * columns), dcells(rows() * units), dh_scale(rows()) {
        size_t start = 0;
        for (int64_t step = 0; step < job.steps; ++step) {
            starts.push_back(start);
            start += job.batch_sizes[step];
        }
        std::memset(dh.data, 0, rows() * columns * sizeof(float));
        std::memset(dcells.data, 0, rows() * units * sizeof(float));
        for (size_t r = 0; r < rows(); ++r) {
            std::memcpy(dh.data + r * columns, d.gradients.hidden + r * job.projection_dim, job.projection_dim * sizeof(float));
            std::memcpy(dcells.data + r * units, d.gradients.cells + r * job.hidden_dim, job.hidden_dim * sizeof(float));
        }
    }
    size_t rows() const { return size_t(job.batch_sizes[0]); }

    template <int M>
    void cell(int panel, int row, int64_t step) {
        typename K::Sum sum[M][4] = {};
        Vec dm[M][4] = {};
        const char* w = static_cast<const char*>(d.gradients.projection.panels) + size_t(panel) * sizeof(Act) * PANEL * hidden_k;
        K::template add<M>(sum, dh_packed.data + size_t(row) * hidden_k, hidden_k, w, hidden_k);
        finish<K, M>(sum, dm, d.gradients.projection, panel, dh_scale.data + row);
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

    template <int M>
    void hidden(int panel, int row, int64_t step) {
        typename K::Sum sum[M][4] = {};
        Vec out[M][4] = {};
        const char* w = static_cast<const char*>(d.gradients.recurrent.panels) + size_t(panel) * sizeof(Act) * PANEL * gates_k;
        K::template add<M>(sum, dgates + (starts[step] + row) * gates_k, gates_k, w, gates_k);
        finish<K, M>(sum, out, d.gradients.recurrent, panel, nullptr);
        for (int r = 0; r < M; ++r)
            for (int g = 0; g < 4; ++g) store(dh.data + size_t(row + r) * columns + panel * PANEL + g * LANES, out[r][g]);
    }

    void run(int member) {
        const int64_t width = job.projection_dim;
        for (int64_t step = job.steps - 1; step >= 0; --step) {
            const int n = int(job.batch_sizes[step]);
            for (int r = member; r < n; r += team) {
                const size_t at = starts[step] + r;
                const float* given = d.gradients.outputs + at * width;
                const float* output = d.outputs + at * width;
                float* sum = dh.data + size_t(r) * columns;
                float* kept = d.gradients.projected + at * width;
                for (int64_t i = 0; i < width; ++i)  // a clipped output has no gradient
                    kept[i] = std::fabs(output[i]) < job.projection_clip ? sum[i] + given[i] : 0.0f;
                dh_scale.data[r] = K::convert(kept, dh_packed.data + size_t(r) * hidden_k, int(width), hidden_k);
            }
            wait();
            for (int panel = member; panel < unit_panels; panel += team)
                tiles(n, [&](auto size, int row) { this->template cell<decltype(size)::value>(panel, row, step); });
            wait();
            for (int panel = member; panel < column_panels; panel += team)
                tiles(n, [&](auto size, int row) { this->template hidden<decltype(size)::value>(panel, row, step); });
            wait();
        }
        if (member == 0)
            for (size_t r = 0; r < rows(); ++r) {
                std::memcpy(d.gradients.hidden + r * width, dh.data + r * columns, width * sizeof(float));
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
