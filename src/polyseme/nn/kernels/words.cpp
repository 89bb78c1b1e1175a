// The token encoder: characters to features, highway layers, projection.
//
// A convolution over characters is a sum of table rows: the response of filter f to character c at offset j of its window
// is known beforehand, table[j][c][f]. A window of width w costs w additions instead of w * character_dim products.

#include "common.h"
#include "pool.h"

extern "C" {
struct Filters {         // all filters of one width
    float* table;        // (blocks, width, characters, BLOCK); its gradient in the backward pass
    int64_t width, count, blocks;
};
struct CnnJob {
    const int64_t* ids;      // (words, positions)
    const int64_t* lengths;  // (words,) number of positions before the padding
    const Filters* filters;
    const float* bias;       // (features,)
    float* features;         // (words, features); before the activation if winners is not null
    int16_t* winners;        // (words, features) the position of each maximum, or null
    const float* gradients;  // (words, features), for the backward pass
    int64_t words, positions, characters, padding, groups, dim, tanh, threads;
};
struct DenseJob {
    Matrix weight;
    const float* bias;    // in panel order
    const float* inputs;  // (rows, input_dim)
    float* outputs;       // (rows, output_dim)
    int64_t rows, input_dim, output_dim, threads;
};
}

constexpr int BLOCK = PANEL;

struct Block { const Filters* filters; int64_t number, column; };  // of up to BLOCK filters of one width
constexpr int64_t WORDS_OF_PART = 128, ROWS_OF_PART = 32;

static std::vector<Block> blocks_of(const CnnJob& job) {
    std::vector<Block> blocks;
    int64_t column = 0;
    for (int64_t g = 0; g < job.groups; ++g)
        for (int64_t block = 0; block < job.filters[g].blocks; ++block) {
            blocks.push_back({job.filters + g, block, column});
            column += std::min<int64_t>(BLOCK, job.filters[g].count - block * BLOCK);
        }
    return blocks;
}

// WINNERS: also store the position of each maximum. Then NaN counts as the maximum, as in torch, so that training sees it.
template <bool WINNERS>
static void convolve(const CnnJob& job, const Block& b, int64_t first, int64_t last) {
    const Filters& f = *b.filters;
    const int64_t windows = job.positions - f.width + 1, column = b.column;
    const float* table = f.table + b.number * f.width * job.characters * BLOCK;
    Vec padded[4] = {};  // the value of a window of padding only
    for (int64_t j = 0; j < f.width; ++j)
        for (int v = 0; v < 4; ++v) padded[v] += load(table + (j * job.characters + job.padding) * BLOCK + v * LANES);
    const int64_t width = std::min<int64_t>(BLOCK, f.count - b.number * BLOCK);
    for (int64_t word = first; word < last; ++word) {
        const int64_t* ids = job.ids + word * job.positions;
        const int64_t inside = std::min(job.lengths[word], windows);
        Vec best[4];
        IVec where[4];
        for (int v = 0; v < 4; ++v) {
            best[v] = inside < windows ? padded[v] : splat(-INFINITY);
            where[v] = IVec{} + int32_t(inside < windows ? inside : 0);  // the first window of padding
        }
        for (int64_t at = 0; at < inside; ++at) {
            Vec sum[4] = {};
            for (int64_t j = 0; j < f.width; ++j) {
                const float* row = table + (j * job.characters + ids[at + j]) * BLOCK;
                for (int v = 0; v < 4; ++v) sum[v] += load(row + v * LANES);
            }
            for (int v = 0; v < 4; ++v) {
                if constexpr (WINNERS) {
                    const auto wins = (sum[v] > best[v]) | (sum[v] != sum[v]);
                    where[v] = wins ? IVec{} + int32_t(at) : where[v];
                    best[v] = wins ? sum[v] : best[v];
                } else {
                    best[v] = sum[v] > best[v] ? sum[v] : best[v];
                }
            }
        }
        float values[BLOCK];
        int32_t places[BLOCK];
        for (int v = 0; v < 4; ++v) {
            store(values + v * LANES, best[v]);
            std::memcpy(places + v * LANES, &where[v], sizeof where[v]);
        }
        float* out = job.features + word * job.dim + column;
        const float* bias = job.bias + column;
        if constexpr (WINNERS) {
            int16_t* winners = job.winners + word * job.dim + column;
            for (int64_t i = 0; i < width; ++i) {
                out[i] = values[i] + bias[i];
                winners[i] = int16_t(places[i]);
            }
            continue;
        }
        for (int64_t i = 0; i < width; ++i) {
            const float value = values[i] + bias[i];
            out[i] = job.tanh ? std::tanh(value) : std::max(value, 0.0f);
        }
    }
}

// The table of one block stays in the cache while all words of a part are processed.
template <bool WINNERS>
static void run_cnn(const CnnJob& job) {
    const std::vector<Block> blocks = blocks_of(job);
    const int64_t word_parts = (job.words + WORDS_OF_PART - 1) / WORDS_OF_PART;
    share(job.threads, int64_t(blocks.size()) * word_parts, [&](int64_t part) {
        const Block& block = blocks[blocks.size() - 1 - part / word_parts];  // the widest filters, which cost most, first
        const int64_t first = part % word_parts * WORDS_OF_PART;
        convolve<WINNERS>(job, block, first, std::min(job.words, first + WORDS_OF_PART));
    });
}

// Each feature's gradient goes to the table rows of the window it came from.
static void run_cnn_backward(const CnnJob& job) {
    const std::vector<Block> blocks = blocks_of(job);
    share(job.threads, int64_t(blocks.size()), [&](int64_t part) {
        const Block& b = blocks[blocks.size() - 1 - part];
        const Filters& f = *b.filters;
        float* table = f.table + b.number * f.width * job.characters * BLOCK;
        const int64_t width = std::min<int64_t>(BLOCK, f.count - b.number * BLOCK);
        for (int64_t word = 0; word < job.words; ++word) {
            const int64_t* ids = job.ids + word * job.positions;
            const float* gradients = job.gradients + word * job.dim + b.column;
            const int16_t* winners = job.winners + word * job.dim + b.column;
            for (int64_t i = 0; i < width; ++i) {
                if (gradients[i] == 0.0f) continue;
                for (int64_t j = 0; j < f.width; ++j) table[(j * job.characters + ids[winners[i] + j]) * BLOCK + i] += gradients[i];
            }
        }
    });
}

// rows W^T + b, or a highway layer, whose panels have two groups of transform columns and two of the gates of the same units.
template <class K, bool HIGHWAY>
static void run_dense(const DenseJob& job) {
    using Act = typename K::Act;
    const int k = up(job.input_dim, K::PACK), units = HIGHWAY ? 2 * LANES : PANEL;
    const int panels = up(job.output_dim, units) / units;
    Buffer<Act> rows(size_t(job.rows) * k);
    Buffer<float> scales(job.rows);
    share_range(job.threads, job.rows, ROWS_OF_PART, [&](int64_t first, int64_t last) {
        for (int64_t r = first; r < last; ++r)
            scales.data[r] = K::convert(job.inputs + r * job.input_dim, rows.data + r * k, int(job.input_dim), k);
    });
    share(job.threads, panels, [&](int64_t panel) {
        const char* w = static_cast<const char*>(job.weight.panels) + size_t(panel) * sizeof(Act) * PANEL * k;
        tiles(int(job.rows), [&](auto size, int row) {
            constexpr int M = decltype(size)::value;
            typename K::Sum sum[M][4] = {};
            Vec out[M][4];
            for (int r = 0; r < M; ++r)
                for (int g = 0; g < 4; ++g) out[r][g] = load(job.bias + panel * PANEL + g * LANES);
            K::template add<M>(sum, rows.data + size_t(row) * k, k, w, k);
            finish<K, M>(sum, out, job.weight, int(panel), scales.data + row);
            const int64_t column = panel * units, width = std::min<int64_t>(units, job.output_dim - column);
            for (int r = 0; r < M; ++r) {
                float values[PANEL];
                if constexpr (HIGHWAY) {
                    float carried[2 * LANES] = {};
                    std::memcpy(carried, job.inputs + (row + r) * job.input_dim + column, width * sizeof(float));
                    for (int g = 0; g < 2; ++g) {
                        const Vec zero{}, x = load(carried + g * LANES);
                        const Vec made = out[r][g] > zero ? out[r][g] : zero;
                        store(values + g * LANES, made + sigmoid(out[r][2 + g]) * (x - made));
                    }
                } else {
                    for (int g = 0; g < 4; ++g) store(values + g * LANES, out[r][g]);
                }
                std::memcpy(job.outputs + (row + r) * job.output_dim + column, values, width * sizeof(float));
            }
        });
    });
}

extern "C" {
void polyseme_character_cnn(const CnnJob* job) { job->winners ? run_cnn<true>(*job) : run_cnn<false>(*job); }
void polyseme_character_cnn_backward(const CnnJob* job) { run_cnn_backward(*job); }
void polyseme_linear_float32(const DenseJob* job) { run_dense<Float32, false>(*job); }
void polyseme_highway_float32(const DenseJob* job) { run_dense<Float32, true>(*job); }
#if defined(__AVX512BF16__)
void polyseme_linear_bfloat16(const DenseJob* job) { run_dense<BFloat16, false>(*job); }
void polyseme_highway_bfloat16(const DenseJob* job) { run_dense<BFloat16, true>(*job); }
#endif
#if defined(__AVX512VNNI__)
void polyseme_linear_int8(const DenseJob* job) { run_dense<Int8, false>(*job); }
void polyseme_highway_int8(const DenseJob* job) { run_dense<Int8, true>(*job); }
#endif
}
