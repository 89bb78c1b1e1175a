// The arguments of a layer of LSTMs without projection, as Python passes them (see kernels/recurrent.py).
#pragma once

#include "common.h"
#include "pool.h"

extern "C" {
struct RecurrentLane {       // one direction
    Matrix input;            // forward: (input_dim -> panels)
    Matrix recurrent;        // forward: (hidden_dim -> panels but those of V); backward: (gates * hidden_dim -> hidden_dim)
    const float* bias;       // (panels * PANEL)
    const int64_t* places;   // (N,) the row of inputs and outputs at each packed place; null if they are in this order
    const float* mask;       // (B, hidden_dim) what outputs are multiplied by; null for nothing
    float* outputs;          // (N, stride), hidden_dim columns of it
    float* sums;             // (N, panels * PANEL) by row: the gates after their activations, and V x
    float* cells;            // (N, units) by place
    const float* given;        // (N, stride) gradients of the outputs
    const float* given_cells;  // (B, hidden_dim) gradients of the cells at the last token of each sequence
    void* gradients;           // (N, blocks * hidden_dim) of what the products with inputs give, in the type of the products
};
struct RecurrentJob {
    RecurrentLane lanes[2];
    const float* inputs;  // (N, input_dim) packed rows
    const int64_t* batch_sizes;
    int64_t lane_count, steps, input_dim, hidden_dim, stride, threads;
};
}

constexpr int ROWS_OF_STEP = 24, ROWS_OF_INPUT = 48;

// What all panels of a layer are: for every LANES units one panel with their gates input, forget, candidate, output. In a
// highway LSTM there follow, in panels of 4 * LANES units, the gate r of the highway and V x, which goes through it.
template <bool HIGHWAY>
struct Layout {
    static constexpr int GATES = HIGHWAY ? 5 : 4, BLOCKS = HIGHWAY ? 6 : 4;  // blocks: the rows of W, in hidden_dim
    // The place of each gate among the rows of the weights.
    static constexpr int ADMIT = HIGHWAY ? 1 : 0, KEEP = HIGHWAY ? 2 : 1, CANDIDATE = HIGHWAY ? 0 : 2, EMIT = 3, THROUGH = 4, CARRIED = 5;
    const int units, unit_panels, groups, width;
    explicit Layout(int64_t hidden_dim)
        : units(up(hidden_dim, LANES)), unit_panels(units / LANES), groups((unit_panels + 3) / 4),
          width((unit_panels + (HIGHWAY ? 2 * groups : 0)) * PANEL) {}
    int through(int unit_panel) const { return unit_panels * PANEL + unit_panel * LANES; }
    int carried(int unit_panel) const { return (unit_panels + groups) * PANEL + unit_panel * LANES; }
};

static inline Vec tanh(Vec x) { return 2.0f * sigmoid(2.0f * x) - 1.0f; }

// Rows of the caller are not padded to whole vectors.
static inline Vec load_some(const float* from, int64_t have) {
    if (have >= LANES) return load(from);
    float values[LANES] = {};
    std::memcpy(values, from, have * sizeof(float));
    return load(values);
}
template <class K>
static inline void put_some(typename K::Act* to, Vec v, int64_t have) {
    if (have >= LANES) return K::put(to, v);
    typename K::Act values[LANES];
    K::put(values, v);
    std::memcpy(to, values, have * sizeof values[0]);
}

// The first packed place of each step, and the number of all places.
static inline std::vector<size_t> first_places(const RecurrentJob& job) {
    std::vector<size_t> starts{0};
    for (int64_t step = 0; step < job.steps; ++step) starts.push_back(starts.back() + size_t(job.batch_sizes[step]));
    return starts;
}
static inline int blocks_of(int64_t work, int size) { return int((work + size - 1) / size); }

template <class Runner>
static void run_recurrent(const RecurrentJob& job) {
    std::vector<std::unique_ptr<Runner>> runners;
    std::vector<std::vector<int32_t>> phases;
    for (int64_t lane = 0; lane < job.lane_count; ++lane) {
        runners.push_back(std::make_unique<Runner>(job, job.lanes[lane]));
        phases.push_back(runners.back()->phases());
    }
    run_lanes(job.threads, std::move(phases), [&](int lane, int phase, int part) { runners[lane]->run(phase, part); });
}
