// The arguments of one LSTM layer, as Python passes them (see kernels/lstm.py), and how threads share the work.
#pragma once

#include "common.h"
#include "pool.h"

extern "C" {
struct Saved {      // per packed row, for the backward pass; null if there is none. units: hidden_dim rounded up to LANES
    void* gates;    // (N, 4, units) after their activations, in the number type of the products
    float* cells;   // (N, units)
    void* emitted;  // (N, units) the input of the projection, in the number type of the products
};
struct Gradients {
    Matrix projection, recurrent;  // W_P and W_hh as products from the right: (P -> units), (4 * units -> P)
    const float* outputs;          // (N, projection_dim)
    void* gates;                   // (N, 4, units) before their activations, in the number type of the products
    float* projected;              // (N, projection_dim) after the clip
    const float* first_cells;      // (B, hidden_dim) the cells before the first step
    float* hidden;                 // (B, projection_dim) in: of the state after the last step; out: before the first
    float* cells;                  // (B, hidden_dim)
};
struct Direction {
    Matrix input, recurrent, projection;
    const float* bias;    // (4, units) in panel order, including the forget bias
    const float* inputs;  // (N, input_dim) packed rows
    float* outputs;       // (N, projection_dim)
    float* hidden;        // (B, projection_dim) in: the state before the first step; out: after the last
    float* cells;         // (B, hidden_dim)
    Saved saved;
    Gradients gradients;
};
struct Job {
    Direction directions[2];
    const int64_t* batch_sizes;
    int64_t steps, input_dim, projection_dim, hidden_dim, threads;
    float cell_clip, projection_clip;
};
}

constexpr int PANELS_OF_PART = 4, ROWS_OF_PART = 24;

static inline int parts_of(int64_t work, int size) { return int((work + size - 1) / size); }

// The first packed row of each step, and the number of all rows.
static inline std::vector<size_t> first_rows(const Job& job) {
    std::vector<size_t> starts{0};
    for (int64_t step = 0; step < job.steps; ++step) starts.push_back(starts.back() + size_t(job.batch_sizes[step]));
    return starts;
}

// The directions are lanes: they do not depend on each other, so that two threads never wait for each other before one is
// done with its direction; then it helps in the other.
template <class Runner>
static void run_layer(const Job& job) {
    Runner ahead(job, job.directions[0]), back(job, job.directions[1]);
    run_lanes(job.threads, {ahead.phases(), back.phases()},
              [&](int lane, int phase, int part) { (lane ? back : ahead).run(phase, part); });
    ahead.finish_states();
    back.finish_states();
}
