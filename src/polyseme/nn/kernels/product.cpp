// C = A B (+ bias) for the large products of training, with either matrix transposed or not.
//
// A is first converted as a whole; then each part packs its panel of B, block by block of the depth, and multiplies rows of A
// with it. The sums of a part stay in the cache. Each number of C is summed in the order of k, by one part.

#include "panels.h"
#include "pool.h"

extern "C" {
struct Operand {          // element (i, k) is at i * across + k * along; one of the strides is 1
    const void* data;
    int64_t across, along, half;
};
struct ProductJob {
    Operand a, b;         // i: the rows of C, and the columns of C
    const float* bias;    // (columns,) or null
    float* c;             // element (row, column) is at row * stride + column
    int64_t rows, columns, depth, stride, add, threads;  // add: to what is in C
};
}

constexpr int GROUP = 192;  // rows of A that are converted by one part; whole tiles
constexpr int BLOCK_BYTES = 131072;  // of a packed panel: it stays in the second cache while rows are multiplied with it

// Rows of A in the number type of the products: (rows, depth), or (tiles, depth / PACK, ROWS, PACK) if its columns follow each
// other in memory.
template <class K>
struct Rows {
    using Act = typename K::Act;
    const ProductJob& job;
    const Source source;
    const bool transposed;
    const int64_t depth;
    const size_t stride;  // of a row; not a power of two, so that rows do not compete for the same part of the cache
    Buffer<Act> data;

    explicit Rows(const ProductJob& job)
        : job(job), source{job.a.data, job.a.across, job.a.along, job.a.half != 0}, transposed(job.a.along != 1),
          depth(up(job.depth, K::PACK)), stride(up(depth, 64 / int(sizeof(Act))) + 64 / sizeof(Act)),
          data(transposed ? size_t(up(job.rows, GROUP)) * depth : size_t(job.rows) * stride) {}

    int parts() const { return int((job.rows + GROUP - 1) / GROUP); }
    void convert(int part) {
        const int64_t first = int64_t(part) * GROUP, last = std::min(job.rows, first + GROUP);
        if (transposed) return convert_columns(first, int(last - first));
        for (int64_t r = first; r < last; ++r) {
            Act* out = data.data + r * stride;
            if (K::PACK == 2 && source.half) {
                std::memcpy(out, static_cast<const Act*>(source.data) + r * source.across, job.depth * sizeof(Act));
                std::memset(out + job.depth, 0, (depth - job.depth) * sizeof(Act));
            } else {
                K::convert(static_cast<const float*>(source.data) + r * source.across, out, int(job.depth), int(depth));
            }
        }
    }
    void convert_columns(int64_t first, int rows) {
        constexpr int AT_ONCE = 64;  // of the depth
        Act side[AT_ONCE * GROUP];   // (depth / PACK, GROUP, PACK)
        for (int64_t k = 0; k < job.depth; k += AT_ONCE) {
            const int64_t end = std::min<int64_t>(job.depth, k + AT_ONCE);
            for (int lane = 0; lane < up(rows, LANES); lane += LANES)
                pack_lanes<K>(source, first + lane, std::min(LANES, rows - lane), k, end, side + lane * K::PACK, GROUP * K::PACK);
            for (int row = 0; row < rows; row += ROWS) {
                Act* out = data.data + (first + row) * depth + k * ROWS;
                for (int i = 0; i < int(end - k); i += K::PACK, out += ROWS * K::PACK)
                    std::memcpy(out, side + i * GROUP + row * K::PACK, ROWS * K::PACK * sizeof(Act));
            }
        }
    }
};

template <class K>
struct Product {
    using Act = typename K::Act;
    static constexpr int BLOCK_DEPTH = BLOCK_BYTES / (PANEL * int(sizeof(Act)));
    const ProductJob& job;
    const Source source;
    const int panels, rows_of_part;
    Rows<K> a;

    explicit Product(const ProductJob& job)
        : job(job), source{job.b.data, job.b.across, job.b.along, job.b.half != 0}, panels(up(job.columns, PANEL) / PANEL),
          rows_of_part(panels >= 16 ? 5 * GROUP : 2 * GROUP), a(job) {}

    int parts() const { return panels * int((job.rows + rows_of_part - 1) / rows_of_part); }

    void run(int part) {
        const int64_t first = int64_t(part / panels) * rows_of_part, last = std::min(job.rows, first + rows_of_part);
        const int64_t column = int64_t(part % panels) * PANEL, width = std::min<int64_t>(PANEL, job.columns - column);
        const int rows = int(last - first);
        Buffer<Vec> sums(size_t(rows) * 4);
        std::memset(sums.data, 0, size_t(rows) * 4 * sizeof(Vec));
        Buffer<Act> packed(size_t(std::min<int64_t>(BLOCK_DEPTH, up(job.depth, K::PACK))) * PANEL);
        Act* const panel = packed.data;
        for (int64_t k = 0; k < job.depth; k += BLOCK_DEPTH) {
            const int64_t end = std::min<int64_t>(job.depth, k + BLOCK_DEPTH);
            for (int g = 0; g < 4; ++g) {
                const int have = int(std::max<int64_t>(0, std::min<int64_t>(LANES, width - g * LANES)));
                pack_lanes<K>(source, column + g * LANES, have, k, end, panel + g * LANES * K::PACK, PANEL * K::PACK);
            }
            const int depth = up(end - k, K::PACK);
            if (a.transposed)
                add_columns(sums.data, panel, first, rows, k, depth);
            else
                add_rows(sums.data, a.data.data + first * a.stride + k, panel, rows, depth);
        }
        for (int r = 0; r < rows; ++r) write(first + r, column, width, sums.data + r * 4);
    }

    void add_rows(Vec* sums, const Act* rows_data, const Act* panel, int rows, int depth) {
        tiles(rows, [&](auto size, int row) {
            constexpr int M = decltype(size)::value;
            Vec sum[M][4];
            std::memcpy(sum, sums + row * 4, sizeof sum);
            K::template add<M>(sum, rows_data + row * a.stride, a.stride, panel, depth);
            std::memcpy(sums + row * 4, sum, sizeof sum);
        });
    }

    void add_columns(Vec* sums, const Act* panel, int64_t first, int rows, int64_t k, int depth) {
        tiles(rows, [&](auto size, int row) {
            constexpr int M = decltype(size)::value;
            Vec sum[M][4];
            std::memcpy(sum, sums + row * 4, sizeof sum);
            K::template add<M, ROWS>(sum, a.data.data + (first + row) * a.depth + k * ROWS, K::PACK, panel, depth);
            std::memcpy(sums + row * 4, sum, sizeof sum);
        });
    }

    void write(int64_t row, int64_t column, int64_t width, const Vec* sum) {
        float* out = job.c + row * job.stride + column;
        float values[PANEL];
        std::memcpy(values, sum, sizeof values);
        if (job.bias)
            for (int64_t i = 0; i < width; ++i) values[i] += job.bias[column + i];
        if (job.add)
            for (int64_t i = 0; i < width; ++i) values[i] += out[i];
        std::memcpy(out, values, width * sizeof(float));
    }
};

template <class K>
static void run_product(const ProductJob& job) {
    if (!job.rows || !job.columns) return;
    Product<K> product(job);
    run_lanes(job.threads, {{product.a.parts(), product.parts()}},
              [&](int, int phase, int part) { phase ? product.run(part) : product.a.convert(part); });
}

extern "C" {
void polyseme_product_float32(const ProductJob* job) { run_product<Float32>(*job); }
#if defined(__AVX512BF16__)
void polyseme_product_bfloat16(const ProductJob* job) { run_product<BFloat16>(*job); }
#endif
}
