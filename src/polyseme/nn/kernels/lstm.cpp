// The projected LSTM: one layer, both directions, a whole packed batch in one call.
//
// A step is two matrix products with everything else fused into them:
//   gates (rows, 4H) = [x; h] W + b   ->  the cell update happens on the gates while they are still in registers
//   h     (rows, P)  = m W_P          ->  clipped as it is stored
// For the gates, the four groups of a panel are the four gates of the same LANES units, so that the cell update stays in
// registers; for the projection, they are 4 * LANES columns.

#include "lstm.h"

// Phases: first all inputs are converted to the number type of the products. Then in each step
//   gates     parts of PANELS_OF_PART panels of units
//   (convert  rows of m, for 8-bit integers, whose scale depends on the whole row)
//   project   parts of one panel of columns and ROWS_OF_PART rows
//   (convert  rows of h)
template <class K>
struct Runner {
    using Act = typename K::Act;
    using Sum = typename K::Sum;
    static constexpr int PHASES = K::SCALED ? 4 : 2;  // of a step
    const Job& job;
    const Direction& d;
    const int input_k, hidden_k, units, unit_panels, columns, column_panels;
    std::vector<size_t> starts;  // the first packed row of each step, and the number of all rows
    Buffer<Act> x, h, m_packed;
    Buffer<float> m, cells, states, x_scale, h_scale, m_scale;

    Runner(const Job& job, const Direction& d)
        : job(job), d(d), input_k(up(job.input_dim, K::PACK)), hidden_k(up(job.projection_dim, K::PACK)),
          units(up(job.hidden_dim, LANES)), unit_panels(units / LANES), columns(up(job.projection_dim, PANEL)),
          column_panels(columns / PANEL), starts(first_rows(job)), x(starts.back() * input_k), h(rows() * columns),
          m_packed(d.saved.emitted ? 0 : rows() * units), m(K::SCALED ? rows() * units : 0), cells(rows() * units),
          states(rows() * columns), x_scale(starts.back()), h_scale(rows()), m_scale(rows()) {
        std::memset(cells.data, 0, rows() * units * sizeof(float));
        std::memset(states.data, 0, rows() * columns * sizeof(float));
        for (size_t r = 0; r < rows(); ++r) {
            std::memcpy(cells.data + r * units, d.cells + r * job.hidden_dim, job.hidden_dim * sizeof(float));
            std::memcpy(states.data + r * columns, d.hidden + r * job.projection_dim, job.projection_dim * sizeof(float));
            convert_hidden(r);
        }
    }
    size_t rows() const { return size_t(job.batch_sizes[0]); }

    std::vector<int32_t> phases() const {
        std::vector<int32_t> parts{parts_of(starts.back(), ROWS_OF_PART)};
        for (int64_t step = 0; step < job.steps; ++step) {
            const int row_parts = parts_of(job.batch_sizes[step], ROWS_OF_PART);
            parts.push_back(parts_of(unit_panels, PANELS_OF_PART));
            if (K::SCALED) parts.push_back(row_parts);
            parts.push_back(column_panels * row_parts);
            if (K::SCALED) parts.push_back(row_parts);
        }
        return parts;
    }

    void run(int phase, int part) {
        if (phase == 0) return convert_inputs(part);
        const int64_t step = (phase - 1) / PHASES;
        const int n = int(job.batch_sizes[step]), kind = (phase - 1) % PHASES;
        if (kind == 0) {
            const int last = std::min(unit_panels, (part + 1) * PANELS_OF_PART);
            for (int panel = part * PANELS_OF_PART; panel < last; ++panel)
                tiles(n, [&](auto size, int row) { this->template gates<decltype(size)::value>(panel, row, starts[step]); });
        } else if (kind == PHASES / 2) {
            const int first = part / column_panels * ROWS_OF_PART;
            project(part % column_panels, first, std::min(n, first + ROWS_OF_PART), starts[step]);
        } else {
            const int first = part * ROWS_OF_PART, last = std::min(n, first + ROWS_OF_PART);
            for (int r = first; r < last; ++r) kind == 1 ? convert_emitted(r) : convert_hidden(r);
        }
    }

    void convert_inputs(int part) {
        const size_t first = size_t(part) * ROWS_OF_PART, last = std::min(starts.back(), first + ROWS_OF_PART);
        for (size_t r = first; r < last; ++r)
            x_scale.data[r] = K::convert(d.inputs + r * job.input_dim, x.data + r * input_k, int(job.input_dim), input_k);
    }
    void convert_emitted(int r) {
        m_scale.data[r] = K::convert(m.data + size_t(r) * units, m_packed.data + size_t(r) * units, units, units);
    }
    void convert_hidden(size_t r) {
        h_scale.data[r] = K::convert(states.data + r * columns, h.data + r * columns, int(job.projection_dim), columns);
    }
    // The input of the projection, in the number type of the products; it is kept if there will be a backward pass.
    Act* emitted_rows(size_t start) const { return d.saved.emitted ? static_cast<Act*>(d.saved.emitted) + start * units : m_packed.data; }

    template <int M>
    void gates(int panel, int row, size_t start) {
        Vec gate[M][4];
        for (int g = 0; g < 4; ++g)
            for (int r = 0; r < M; ++r) gate[r][g] = load(d.bias + size_t(panel) * PANEL + g * LANES);
        const size_t width = sizeof(Act) * PANEL;
        {
            Sum sum[M][4] = {};
            const char* w = static_cast<const char*>(d.input.panels) + size_t(panel) * width * input_k;
            K::template add<M>(sum, x.data + (start + row) * input_k, input_k, w, input_k);
            if constexpr (K::SCALED) {
                finish<K, M>(sum, gate, d.input, panel, x_scale.data + start + row);
                std::memset(sum, 0, sizeof sum);
            }
            w = static_cast<const char*>(d.recurrent.panels) + size_t(panel) * width * hidden_k;
            K::template add<M>(sum, h.data + size_t(row) * columns, columns, w, hidden_k);
            finish<K, M>(sum, gate, d.recurrent, panel, h_scale.data + row);
        }
        for (int r = 0; r < M; ++r) {
            float* c = cells.data + size_t(row + r) * units + panel * LANES;
            const size_t at = size_t(row + r) * units + panel * LANES;
            if constexpr (!K::SCALED)
                if (d.saved.gates) {
                    update_saved(start + row + r, panel, gate[r], c);
                    continue;
                }
            const Vec cell = clamp(gated_tanh(gate[r][0], gate[r][2]) + sigmoid(gate[r][1]) * load(c), job.cell_clip);
            store(c, cell);
            const Vec emitted = gated_tanh(gate[r][3], cell);
            if constexpr (K::SCALED)
                store(m.data + at, emitted);
            else
                K::put(m_packed.data + at, emitted);
        }
    }

    // Updates the cells of a packed row and stores what the backward pass needs.
    void update_saved(size_t at, int panel, const Vec (&gate)[4], float* c) {
        const Vec admit = sigmoid(gate[0]), keep = sigmoid(gate[1]), emit = sigmoid(gate[3]);
        const Vec candidate = 2.0f * sigmoid(2.0f * gate[2]) - 1.0f;
        const Vec cell = clamp(admit * candidate + keep * load(c), job.cell_clip);
        store(c, cell);
        Act* gates = static_cast<Act*>(d.saved.gates) + at * 4 * units + panel * LANES;
        K::put(gates, admit);
        K::put(gates + units, keep);
        K::put(gates + 2 * units, candidate);
        K::put(gates + 3 * units, emit);
        store(d.saved.cells + at * units + panel * LANES, cell);
        K::put(static_cast<Act*>(d.saved.emitted) + at * units + panel * LANES, emit * (2.0f * sigmoid(2.0f * cell) - 1.0f));
    }

    void project(int panel, int first, int last, size_t start) {
        Sum sums[ROWS_OF_PART][4] = {};
        const char* w = static_cast<const char*>(d.projection.panels) + size_t(panel) * sizeof(Act) * PANEL * units;
        add_panel<K>(sums, emitted_rows(start) + size_t(first) * units, units, w, units, last - first);
        const int64_t width = job.projection_dim;
        for (int r = first; r < last; ++r) {
            Vec out[1][4] = {};
            Sum own[1][4];
            std::memcpy(own, sums + (r - first), sizeof own);
            finish<K, 1>(own, out, d.projection, panel, m_scale.data + r);
            float* state = states.data + size_t(r) * columns + panel * PANEL;
            for (int g = 0; g < 4; ++g) {
                const Vec clipped = clamp(out[0][g], job.projection_clip);
                store(state + g * LANES, clipped);
                if constexpr (!K::SCALED) K::put(h.data + size_t(r) * columns + panel * PANEL + g * LANES, clipped);
            }
            std::memcpy(d.outputs + (start + r) * width + panel * PANEL, state, std::min<int64_t>(PANEL, width - panel * PANEL) * sizeof(float));
        }
    }

    void finish_states() {
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
