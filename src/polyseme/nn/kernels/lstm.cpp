// The projected LSTM: one layer, both directions, a whole packed batch in one call.
//
// A step is two matrix products with everything else fused into them:
//   gates (rows, 4H) = [x; h] W + b   ->  the cell update happens on the gates while they are still in registers
//   h     (rows, P)  = m W_P          ->  clipped as it is stored
// For the gates, the four groups of a panel are the four gates of the same LANES units, so that the cell update stays in
// registers; for the projection, they are 4 * LANES columns.

#include "lstm.h"

template <class K>
struct Runner : Team {
    using Act = typename K::Act;
    const Job& job;
    const Direction& d;
    const int input_k, hidden_k, projected_k, units, unit_panels, columns, column_panels;
    Buffer<Act> x, h, m_packed;
    Buffer<float> m, cells, states, x_scale, h_scale, m_scale;

    Runner(const Job& job, const Direction& d, int team)
        : Team(team), job(job), d(d),
          input_k(up(job.input_dim, K::PACK)), hidden_k(up(job.projection_dim, K::PACK)),
          projected_k(up(up(job.hidden_dim, LANES), K::PACK)),
          units(up(job.hidden_dim, LANES)), unit_panels(units / LANES),
          columns(up(job.projection_dim, PANEL)), column_panels(columns / PANEL),
          x(rows() * input_k), h(rows() * hidden_k), m_packed(rows() * projected_k),
          m(rows() * projected_k), cells(rows() * units), states(rows() * columns),
          x_scale(rows()), h_scale(rows()), m_scale(rows()) {
        std::memset(cells.data, 0, rows() * units * sizeof(float));
        std::memset(states.data, 0, rows() * columns * sizeof(float));
        for (size_t r = 0; r < rows(); ++r) {
            std::memcpy(cells.data + r * units, d.cells + r * job.hidden_dim, job.hidden_dim * sizeof(float));
            std::memcpy(states.data + r * columns, d.hidden + r * job.projection_dim, job.projection_dim * sizeof(float));
        }
    }
    size_t rows() const { return size_t(job.batch_sizes[0]); }

    template <int M>
    void gates(int panel, int row, size_t start) {
        Vec gate[M][4];
        for (int g = 0; g < 4; ++g)
            for (int r = 0; r < M; ++r) gate[r][g] = load(d.bias + size_t(panel) * PANEL + g * LANES);
        const size_t width = sizeof(Act) * PANEL;
        {
            typename K::Sum sum[M][4] = {};
            const char* w = static_cast<const char*>(d.input.panels) + size_t(panel) * width * input_k;
            K::template add<M>(sum, x.data + size_t(row) * input_k, input_k, w, input_k);
            if constexpr (K::SCALED) {
                finish<K, M>(sum, gate, d.input, panel, x_scale.data + row);
                std::memset(sum, 0, sizeof sum);
            }
            w = static_cast<const char*>(d.recurrent.panels) + size_t(panel) * width * hidden_k;
            K::template add<M>(sum, h.data + size_t(row) * hidden_k, hidden_k, w, hidden_k);
            finish<K, M>(sum, gate, d.recurrent, panel, h_scale.data + row);
        }
        for (int r = 0; r < M; ++r) {
            float* c = cells.data + size_t(row + r) * units + panel * LANES;
            const Vec cell = clamp(gated_tanh(gate[r][0], gate[r][2]) + sigmoid(gate[r][1]) * load(c), job.cell_clip);
            store(c, cell);
            const Vec emitted = gated_tanh(gate[r][3], cell);
            store(m.data + size_t(row + r) * projected_k + panel * LANES, emitted);
            if constexpr (!K::SCALED)
                if (d.saved.gates) save(start + row + r, panel, gate[r], cell, emitted);
        }
    }

    // Stores what the backward pass needs of a packed row.
    void save(size_t at, int panel, const Vec (&gate)[4], Vec cell, Vec emitted) {
        Act* gates = static_cast<Act*>(d.saved.gates) + at * 4 * units + panel * LANES;
        K::put(gates, sigmoid(gate[0]));
        K::put(gates + units, sigmoid(gate[1]));
        K::put(gates + 2 * units, 2.0f * sigmoid(2.0f * gate[2]) - 1.0f);
        K::put(gates + 3 * units, sigmoid(gate[3]));
        store(d.saved.cells + at * units + panel * LANES, cell);
        K::put(static_cast<Act*>(d.saved.emitted) + at * units + panel * LANES, emitted);
    }

    template <int M>
    void project(int panel, int row) {
        typename K::Sum sum[M][4] = {};
        Vec out[M][4] = {};
        const char* w = static_cast<const char*>(d.projection.panels) + size_t(panel) * sizeof(Act) * PANEL * projected_k;
        K::template add<M>(sum, m_packed.data + size_t(row) * projected_k, projected_k, w, projected_k);
        finish<K, M>(sum, out, d.projection, panel, m_scale.data + row);
        for (int r = 0; r < M; ++r)
            for (int g = 0; g < 4; ++g)
                store(states.data + size_t(row + r) * columns + panel * PANEL + g * LANES, clamp(out[r][g], job.projection_clip));
    }

    void run(int member) {
        size_t start = 0;
        for (int64_t step = 0; step < job.steps; ++step) {
            const int n = int(job.batch_sizes[step]);
            for (int r = member; r < n; r += team) {
                x_scale.data[r] = K::convert(d.inputs + (start + r) * job.input_dim, x.data + size_t(r) * input_k, job.input_dim, input_k);
                h_scale.data[r] = K::convert(states.data + size_t(r) * columns, h.data + size_t(r) * hidden_k, job.projection_dim, hidden_k);
            }
            wait();
            for (int panel = member; panel < unit_panels; panel += team)
                tiles(n, [&](auto size, int row) { this->template gates<decltype(size)::value>(panel, row, start); });
            wait();
            for (int r = member; r < n; r += team)
                m_scale.data[r] = K::convert(m.data + size_t(r) * projected_k, m_packed.data + size_t(r) * projected_k, units, projected_k);
            wait();
            for (int panel = member; panel < column_panels; panel += team)
                tiles(n, [&](auto size, int row) { this->template project<decltype(size)::value>(panel, row); });
            wait();
            for (int r = member; r < n; r += team)
                std::memcpy(d.outputs + (start + r) * job.projection_dim, states.data + size_t(r) * columns, job.projection_dim * sizeof(float));
            start += n;
        }
        wait();
        if (member == 0)
            for (size_t r = 0; r < rows(); ++r) {
                std::memcpy(d.cells + r * job.hidden_dim, cells.data + r * units, job.hidden_dim * sizeof(float));
                std::memcpy(d.hidden + r * job.projection_dim, states.data + r * columns, job.projection_dim * sizeof(float));
            }
    }
};

extern "C" {
int polyseme_lanes() { return LANES; }
// The number types this build can compute in, as bits: 1 float32, 2 bfloat16, 4 int8.
int polyseme_precisions() {
    int found = 1;
#if defined(__AVX512BF16__)
    found |= 2;
#endif
#if defined(__AVX512VNNI__)
    found |= 4;
#endif
    return found;
}
void polyseme_lstm_float32(const Job* job) { run_layer<Runner<Float32>>(*job); }
#if defined(__AVX512BF16__)
void polyseme_lstm_bfloat16(const Job* job) { run_layer<Runner<BFloat16>>(*job); }
#endif
#if defined(__AVX512VNNI__)
void polyseme_lstm_int8(const Job* job) { run_layer<Runner<Int8>>(*job); }
#endif
}
