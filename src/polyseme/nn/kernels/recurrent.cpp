// LSTMs without projection, plain or with a highway around the cell: one layer, one direction or both, a whole packed batch
// in one call. See nn/bilstm.py and nn/alternating_lstm.py for what is computed.
//
// The products of all inputs come first. A step is then one product, h U, and everything else is fused into it: the four
// groups of a panel are the four gates of the same LANES units, so that the cell update stays in registers.

#include "recurrent.h"

// Phases: (convert  rows of inputs, for bfloat16), then
//   inputs  parts of one panel and ROWS_OF_INPUT rows
//   and in each step parts of four panels of units and ROWS_OF_STEP rows
template <class K, bool HIGHWAY>
struct RecurrentRunner {
    using Act = typename K::Act;
    static constexpr bool CONVERTED = K::PACK > 1;
    const RecurrentJob& job;
    const RecurrentLane& d;
    const Layout<HIGHWAY> layout;
    const int input_k, hidden_k, units, panels;
    const std::vector<size_t> starts;
    Buffer<Act> x, h[2];  // h of the step before is read while that of this step is written

    RecurrentRunner(const RecurrentJob& job, const RecurrentLane& d)
        : job(job), d(d), layout(job.hidden_dim), input_k(up(job.input_dim, K::PACK)), hidden_k(up(job.hidden_dim, K::PACK)),
          units(layout.units), panels(layout.width / PANEL), starts(first_places(job)), x(CONVERTED ? starts.back() * input_k : 0),
          h{Buffer<Act>(rows() * units), Buffer<Act>(rows() * units)} {}
    size_t rows() const { return size_t(job.batch_sizes[0]); }
    size_t row_at(size_t place) const { return d.places ? size_t(d.places[place]) : place; }

    std::vector<int32_t> phases() const {
        std::vector<int32_t> parts;
        const int input_blocks = blocks_of(starts.back(), ROWS_OF_INPUT);
        if (CONVERTED) parts.push_back(input_blocks);
        parts.push_back(input_blocks * panels);
        for (int64_t step = 0; step < job.steps; ++step) parts.push_back(layout.groups * blocks_of(job.batch_sizes[step], ROWS_OF_STEP));
        return parts;
    }

    void run(int phase, int part) {
        if (phase < CONVERTED) return convert(part);
        const int64_t step = phase - CONVERTED - 1;
        if (step < 0) return multiply(part % panels, size_t(part / panels) * ROWS_OF_INPUT);
        const int group = part % layout.groups, first = part / layout.groups * ROWS_OF_STEP;
        tiles(std::min(ROWS_OF_STEP, int(job.batch_sizes[step]) - first),
              [&](auto size, int row) { this->template advance<decltype(size)::value>(group, first + row, step); });
    }

    void convert(int part) {
        const size_t first = size_t(part) * ROWS_OF_INPUT, last = std::min(starts.back(), first + ROWS_OF_INPUT);
        for (size_t r = first; r < last; ++r) K::convert(job.inputs + r * job.input_dim, x.data + r * input_k, int(job.input_dim), input_k);
    }

    void multiply(int panel, size_t first) {
        const int count = int(std::min(starts.back() - first, size_t(ROWS_OF_INPUT)));
        typename K::Sum sums[ROWS_OF_INPUT][4] = {};
        const Act* rows;
        if constexpr (CONVERTED)
            rows = x.data;
        else
            rows = job.inputs;
        const char* w = static_cast<const char*>(d.input.panels) + size_t(panel) * sizeof(Act) * PANEL * input_k;
        add_panel<K>(sums, rows + first * input_k, input_k, w, input_k, count);
        for (int r = 0; r < count; ++r)
            for (int g = 0; g < 4; ++g)
                store(d.sums + (first + r) * layout.width + panel * PANEL + g * LANES, sums[r][g] + load(d.bias + panel * PANEL + g * LANES));
    }

    template <int M>
    void add_recurrent(Vec (&sums)[M][4], int panel, int row, int64_t step) {
        if (step == 0) return;  // h is zero
        const char* w = static_cast<const char*>(d.recurrent.panels) + size_t(panel) * sizeof(Act) * PANEL * hidden_k;
        K::template add<M>(sums, h[(step + 1) % 2].data + size_t(row) * units, units, w, hidden_k);
    }

    template <int M>
    void advance(int group, int row, int64_t step) {
        float* sums[M];
        for (int r = 0; r < M; ++r) sums[r] = d.sums + row_at(starts[step] + row + r) * layout.width;
        [[maybe_unused]] Vec through[M][4];
        if constexpr (HIGHWAY) {
            for (int r = 0; r < M; ++r)
                for (int g = 0; g < 4; ++g) through[r][g] = load(sums[r] + layout.through(group * 4 + g));
            add_recurrent<M>(through, layout.unit_panels + group, row, step);
            for (int r = 0; r < M; ++r)
                for (int g = 0; g < 4; ++g) {
                    through[r][g] = sigmoid(through[r][g]);
                    store(sums[r] + layout.through(group * 4 + g), through[r][g]);
                }
        }
        for (int panel = group * 4; panel < std::min(layout.unit_panels, group * 4 + 4); ++panel) {
            Vec gate[M][4];
            for (int r = 0; r < M; ++r)
                for (int g = 0; g < 4; ++g) gate[r][g] = load(sums[r] + panel * PANEL + g * LANES);
            add_recurrent<M>(gate, panel, row, step);
            for (int r = 0; r < M; ++r) {
                Vec emitted = update(gate[r], sums[r], panel, row + r, step);
                if constexpr (HIGHWAY) {
                    const Vec carried = load(sums[r] + layout.carried(panel));
                    emitted = carried + through[r][panel - group * 4] * (emitted - carried);
                }
                put_output(emitted, panel * LANES, row + r, step);
            }
        }
    }

    // The new cells of a row, and what they emit; gates and cells are kept for the backward pass.
    Vec update(const Vec (&gate)[4], float* sums, int panel, int row, int64_t step) {
        const Vec admit = sigmoid(gate[0]), keep = sigmoid(gate[1]), candidate = tanh(gate[2]), emit = sigmoid(gate[3]);
        Vec cell = admit * candidate;
        if (step > 0) cell += keep * load(d.cells + (starts[step - 1] + row) * units + panel * LANES);
        store(d.cells + (starts[step] + row) * units + panel * LANES, cell);
        store(sums + panel * PANEL, admit);
        store(sums + panel * PANEL + LANES, keep);
        store(sums + panel * PANEL + 2 * LANES, candidate);
        store(sums + panel * PANEL + 3 * LANES, emit);
        return emit * tanh(cell);
    }

    void put_output(Vec output, int unit, int row, int64_t step) {
        const int64_t have = job.hidden_dim - unit;
        if (d.mask) output *= load_some(d.mask + size_t(row) * job.hidden_dim + unit, have);
        K::put(h[step % 2].data + size_t(row) * units + unit, output);
        put_some<Float32>(d.outputs + row_at(starts[step] + row) * job.stride + unit, output, have);
    }
};

extern "C" {
void polyseme_recurrent_float32(const RecurrentJob* job) { run_recurrent<RecurrentRunner<Float32, false>>(*job); }
void polyseme_highway_recurrent_float32(const RecurrentJob* job) { run_recurrent<RecurrentRunner<Float32, true>>(*job); }
#if defined(__AVX512BF16__)
void polyseme_recurrent_bfloat16(const RecurrentJob* job) { run_recurrent<RecurrentRunner<BFloat16, false>>(*job); }
void polyseme_highway_recurrent_bfloat16(const RecurrentJob* job) { run_recurrent<RecurrentRunner<BFloat16, true>>(*job); }
#endif
}
