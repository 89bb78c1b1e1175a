// The arguments of one LSTM layer, as Python passes them (see kernels/lstm.py), and how threads share the work.
#pragma once

#include "common.h"

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

struct Team {  // the threads that share a direction
    const int team;
    std::atomic<int> arrived{0}, round{0};
    explicit Team(int team) : team(team) {}
    void wait() {  // a barrier that spins, because the phases are short
        if (team == 1) return;
        const int now = round.load();
        if (arrived.fetch_add(1) + 1 == team) {
            arrived.store(0);
            round.fetch_add(1);
        } else {
            while (round.load() == now) std::this_thread::yield();
        }
    }
};

// Each direction has its own half of the threads, since it does not depend on the other.
template <class Runner>
static void run_layer(const Job& job) {
    const int threads = int(std::max<int64_t>(1, job.threads));
    if (threads == 1) {
        for (const Direction& d : job.directions) Runner(job, d, 1).run(0);
        return;
    }
    const int first = (threads + 1) / 2;
    Runner forward(job, job.directions[0], first), backward(job, job.directions[1], threads - first);
    std::vector<std::thread> others;
    for (int member = 1; member < first; ++member) others.emplace_back([&, member] { forward.run(member); });
    for (int member = 0; member < threads - first; ++member) others.emplace_back([&, member] { backward.run(member); });
    forward.run(0);
    for (std::thread& other : others) other.join();
}
