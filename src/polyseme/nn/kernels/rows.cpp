// What training does to rows between its products: softmax and its gradient, the gate of a highway layer, sums of columns.

#include "common.h"
#include "pool.h"

extern "C" {
struct SoftmaxJob {
    float* logits;           // (rows, columns); overwritten
    const float* own;        // (rows,) the logit of each row's target if it is none of the columns, else null
    const int64_t* column;   // (rows,) the column of the target; with ``own``, a column to leave out, or -1
    void* gradients;         // (rows, columns) of the loss, in the number type of the products
    float* log_probability;  // (rows,) of the target
    int64_t rows, columns, threads;
};
struct HighwayJob {
    const float* inputs;     // (rows, dim)
    const float* products;   // (rows, 2 * dim) before the activations: what is made of the input, then the gate
    const float* given;      // (rows, dim) gradients of the outputs, or null in the forward pass
    float* outputs;          // (rows, dim); in the backward pass the part of the inputs' gradient that was carried
    float* gradients;        // (rows, 2 * dim) of the products
    int64_t rows, dim, threads;
};
struct SumJob {
    const void* source;      // (rows, columns)
    float* sums;             // (columns,)
    int64_t rows, columns, stride, threads;
};
}

constexpr int ROWS_OF_PART = 8, COLUMNS_OF_PART = 16 * PANEL;

static inline Vec load_some(const float* from, int64_t count, float rest) {
    if (count >= LANES) return load(from);
    float values[LANES];
    for (int i = 0; i < LANES; ++i) values[i] = i < count ? from[i] : rest;
    return load(values);
}
template <class K>
static inline void put_some(typename K::Act* to, Vec v, int64_t count) {
    if (count >= LANES) return K::put(to, v);
    typename K::Act values[LANES];
    K::put(values, v);
    std::memcpy(to, values, count * sizeof values[0]);
}

template <class K>
static void softmax_row(const SoftmaxJob& job, int64_t row) {
    float* logits = job.logits + row * job.columns;
    typename K::Act* out = static_cast<typename K::Act*>(job.gradients) + row * job.columns;
    const int64_t column = job.column[row];
    const float target = job.own ? job.own[row] : logits[column];
    if (job.own && column >= 0) logits[column] = -INFINITY;
    Vec most = splat(target);
    for (int64_t i = 0; i < job.columns; i += LANES) {
        const Vec v = load_some(logits + i, job.columns - i, -INFINITY);
        most = v > most ? v : most;
    }
    float highest = most[0];
    for (int i = 1; i < LANES; ++i) highest = std::max(highest, most[i]);
    Vec sum{};
    for (int64_t i = 0; i < job.columns; i += LANES) {
        put_some<Float32>(logits + i, exp(load_some(logits + i, job.columns - i, -INFINITY) - highest), job.columns - i);
        sum += load_some(logits + i, job.columns - i, 0.0f);
    }
    float total = 0;
    for (int i = 0; i < LANES; ++i) total += sum[i];
    if (job.own) total += exp(splat(target - highest))[0];
    job.log_probability[row] = target - highest - std::log(total);
    const float share = 1.0f / total;
    for (int64_t i = 0; i < job.columns; i += LANES)
        put_some<K>(out + i, load_some(logits + i, job.columns - i, 0.0f) * share, job.columns - i);
    if (column >= 0) out[column] = K::one(job.own ? 0.0f : logits[column] * share - 1.0f);
}

static void highway_row(const HighwayJob& job, int64_t row) {
    const int64_t dim = job.dim;
    for (int64_t i = 0; i < dim; i += LANES) {
        const int64_t left = dim - i;
        const float* products = job.products + row * 2 * dim + i;
        const Vec x = load_some(job.inputs + row * dim + i, left, 0.0f), zero{};
        const Vec before = load_some(products, left, 0.0f), gate = sigmoid(load_some(products + dim, left, 0.0f));
        const Vec made = before < zero ? zero : before;  // NaN stays
        float* out = job.outputs + row * dim + i;
        if (!job.given) {
            put_some<Float32>(out, made + gate * (x - made), left);
            continue;
        }
        const Vec given = load_some(job.given + row * dim + i, left, 0.0f);
        float* gradients = job.gradients + row * 2 * dim + i;
        put_some<Float32>(out, given * gate, left);
        put_some<Float32>(gradients, before > zero ? given * (1.0f - gate) : zero, left);
        put_some<Float32>(gradients + dim, given * (x - made) * gate * (1.0f - gate), left);
    }
}

template <class K>
static void run_sums(const SumJob& job) {
    using Act = typename K::Act;
    share_range(job.threads, job.columns, COLUMNS_OF_PART, [&](int64_t first, int64_t last) {
        Vec sums[COLUMNS_OF_PART / LANES] = {};
        for (int64_t row = 0; row < job.rows; ++row) {
            const Act* from = static_cast<const Act*>(job.source) + row * job.stride;
            int64_t i = first;
            for (; i + LANES <= last; i += LANES) sums[(i - first) / LANES] += K::get(from + i);
            if (i < last) {
                Act rest[LANES] = {};
                std::memcpy(rest, from + i, (last - i) * sizeof(Act));
                sums[(i - first) / LANES] += K::get(rest);
            }
        }
        std::memcpy(job.sums + first, sums, (last - first) * sizeof(float));
    });
}

template <class K>
static void run_softmax(const SoftmaxJob& job) {
    share_range(job.threads, job.rows, ROWS_OF_PART, [&](int64_t first, int64_t last) {
        for (int64_t row = first; row < last; ++row) softmax_row<K>(job, row);
    });
}

extern "C" {
void polyseme_highway_gate(const HighwayJob* job) {
    share_range(job->threads, job->rows, ROWS_OF_PART, [&](int64_t first, int64_t last) {
        for (int64_t row = first; row < last; ++row) highway_row(*job, row);
    });
}
void polyseme_softmax_float32(const SoftmaxJob* job) { run_softmax<Float32>(*job); }
void polyseme_column_sums_float32(const SumJob* job) { run_sums<Float32>(*job); }
#if defined(__AVX512BF16__)
void polyseme_softmax_bfloat16(const SoftmaxJob* job) { run_softmax<BFloat16>(*job); }
void polyseme_column_sums_bfloat16(const SumJob* job) { run_sums<BFloat16>(*job); }
#endif
}
