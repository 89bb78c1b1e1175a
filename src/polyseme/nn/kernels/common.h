// Vectors, number types and tiles, which all kernels are built from.
//
// Weights are packed in panels of 4 groups of LANES columns, k major: (panels, K / PACK, 4, LANES, PACK). A tile is up to
// ROWS rows by one panel, ROWS * 4 accumulators, which is as many as the registers hold.
//
// Three number types share the code: float32; bfloat16 with float32 sums; and 8-bit integers with exact 32-bit sums, where
// weights are scaled per column and activations per row at run time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#if defined(__AVX512F__)
#include <immintrin.h>
constexpr int LANES = 16, ROWS = 6;
#elif defined(__AVX2__)
constexpr int LANES = 8, ROWS = 3;
#else
constexpr int LANES = 4, ROWS = 6;
#endif
constexpr int PANEL = 4 * LANES;

typedef float Vec __attribute__((vector_size(LANES * 4)));
typedef int32_t IVec __attribute__((vector_size(LANES * 4)));
typedef uint32_t UVec __attribute__((vector_size(LANES * 4)));

static inline Vec load(const float* p) { Vec v; std::memcpy(&v, p, sizeof v); return v; }
static inline void store(float* p, Vec v) { std::memcpy(p, &v, sizeof v); }
static inline Vec splat(float x) { return Vec{} + x; }
static inline Vec clamp(Vec v, float bound) {
    const Vec high = splat(bound), low = splat(-bound);
    v = v > high ? high : v;
    return v < low ? low : v;
}

// exp to about 1 ulp: 2^n * p(f), f within +-ln(2)/2, p the polynomial of degree 6 (Cephes' expf).
static inline Vec exp(Vec x) {
    x = clamp(x, 40.0f);
    const Vec magic = splat(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
    const Vec n = (x * 1.44269504f + magic) - magic;
    const Vec f = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    Vec p = splat(1.9875691500e-4f);
    p = p * f + 1.3981999507e-3f;
    p = p * f + 8.3334519073e-3f;
    p = p * f + 4.1665795894e-2f;
    p = p * f + 1.6666665459e-1f;
    p = p * f + 5.0000001201e-1f;
    p = p * (f * f) + f + 1.0f;
    const IVec scale = (__builtin_convertvector(n, IVec) + 127) << 23;
    Vec two;
    std::memcpy(&two, &scale, sizeof two);
    return p * two;
}
static inline Vec inverse(Vec x) {
#if defined(__AVX512F__)
    const Vec guess = (Vec)_mm512_rcp14_ps((__m512)x);  // 14 bits; one Newton step doubles them
    return guess * (2.0f - x * guess);
#else
    return 1.0f / x;
#endif
}
static inline Vec sigmoid(Vec x) { return inverse(1.0f + exp(-x)); }
// sigmoid(x) * tanh(y) with one division; exp is bounded so that the product of the denominators cannot overflow.
static inline Vec gated_tanh(Vec x, Vec y) {
    const Vec e = exp(2.0f * y);
    return (e - 1.0f) * inverse((1.0f + exp(-x)) * (e + 1.0f));
}

[[maybe_unused]] static inline uint16_t to_bf16(float x) {  // to nearest, ties to even
    uint32_t bits;
    std::memcpy(&bits, &x, 4);
    return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

template <class T>
struct Buffer {  // aligned memory, not initialised
    explicit Buffer(size_t n) : data(static_cast<T*>(std::aligned_alloc(64, (n * sizeof(T) + 63) / 64 * 64))) {}
    ~Buffer() { std::free(data); }
    Buffer(const Buffer&) = delete;
    T* data;
};

template <class Sum, int M>
static inline void copy_sums(const Sum (&from)[M][4], Sum (&to)[M][4]) {
#pragma GCC unroll 8
    for (int r = 0; r < M; ++r)
#pragma GCC unroll 4
        for (int g = 0; g < 4; ++g) to[r][g] = from[r][g];
}

// ---- the three number types: how a row of activations is stored, and how a tile is summed
//
// The numbers k .. k + PACK - 1 of a row of a tile are at row * stride + k * STEP.

struct Float32 {
    using Act = float;
    using Sum = Vec;
    static constexpr int PACK = 1;
    static constexpr bool SCALED = false;
    static void put(Act* to, Vec v) { store(to, v); }
    static Vec get(const Act* from) { return load(from); }
    static Act one(float x) { return x; }
    static float convert(const float* from, Act* to, int n, int padded) {
        std::memcpy(to, from, n * sizeof(float));
        std::memset(to + n, 0, (padded - n) * sizeof(float));
        return 1.0f;
    }
    template <int M, int STEP = 1>
    static inline void add(Sum (&sums)[M][4], const Act* a, size_t stride, const void* panel, int k) {
        const float* w = static_cast<const float*>(panel);
        Sum sum[M][4];  // a copy, so that the compiler keeps it in registers
        copy_sums(sums, sum);
        for (int i = 0; i < k; ++i, w += PANEL) {
            const Vec w0 = load(w), w1 = load(w + LANES), w2 = load(w + 2 * LANES), w3 = load(w + 3 * LANES);
#pragma GCC unroll 8
            for (int r = 0; r < M; ++r) {
                const Vec x = splat(a[r * stride + i * STEP]);
                sum[r][0] += x * w0;
                sum[r][1] += x * w1;
                sum[r][2] += x * w2;
                sum[r][3] += x * w3;
            }
        }
        copy_sums(sum, sums);
    }
};

#if defined(__AVX512BF16__)
struct BFloat16 {
    using Act = uint16_t;
    using Sum = Vec;
    static constexpr int PACK = 2;
    static constexpr bool SCALED = false;
    static void put(Act* to, Vec v) { _mm256_storeu_si256((__m256i*)to, (__m256i)_mm512_cvtneps_pbh((__m512)v)); }
    static Vec get(const Act* from) {
        return (Vec)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)from)), 16);
    }
    static Act one(float x) { return to_bf16(x); }
    static float convert(const float* from, Act* to, int n, int padded) {
        int i = 0;
        for (; i + 16 <= n; i += 16) _mm256_storeu_si256((__m256i*)(to + i), (__m256i)_mm512_cvtneps_pbh(_mm512_loadu_ps(from + i)));
        for (; i < n; ++i) to[i] = to_bf16(from[i]);
        std::memset(to + n, 0, (padded - n) * sizeof(Act));
        return 1.0f;
    }
    template <int M, int STEP = 1>
    static inline void add(Sum (&sums)[M][4], const Act* a, size_t stride, const void* panel, int k) {
        const char* w = static_cast<const char*>(panel);
        Sum sum[M][4];
        copy_sums(sums, sum);
        for (int i = 0; i < k; i += 2, w += 256) {
            const __m512bh w0 = (__m512bh)_mm512_load_si512(w), w1 = (__m512bh)_mm512_load_si512(w + 64);
            const __m512bh w2 = (__m512bh)_mm512_load_si512(w + 128), w3 = (__m512bh)_mm512_load_si512(w + 192);
#pragma GCC unroll 8
            for (int r = 0; r < M; ++r) {
                int32_t pair;
                std::memcpy(&pair, a + r * stride + i * STEP, 4);
                const __m512bh x = (__m512bh)_mm512_set1_epi32(pair);
                sum[r][0] = (Vec)_mm512_dpbf16_ps((__m512)sum[r][0], w0, x);
                sum[r][1] = (Vec)_mm512_dpbf16_ps((__m512)sum[r][1], w1, x);
                sum[r][2] = (Vec)_mm512_dpbf16_ps((__m512)sum[r][2], w2, x);
                sum[r][3] = (Vec)_mm512_dpbf16_ps((__m512)sum[r][3], w3, x);
            }
        }
        copy_sums(sum, sums);
    }
};
#endif

#if defined(__AVX512VNNI__)
struct Int8 {  // the instruction needs unsigned activations: 128 is added, and 128 * (sum of weights) is subtracted again
    using Act = uint8_t;
    using Sum = IVec;
    static constexpr int PACK = 4;
    static constexpr bool SCALED = true;
    static float convert(const float* from, Act* to, int n, int padded) {
        __m512 most = _mm512_setzero_ps();
        int i = 0;
        for (; i + 16 <= n; i += 16) most = _mm512_max_ps(most, _mm512_abs_ps(_mm512_loadu_ps(from + i)));
        float largest = _mm512_reduce_max_ps(most);
        for (; i < n; ++i) largest = std::max(largest, std::fabs(from[i]));
        const float scale = largest / 127.0f, inverse = largest > 0 ? 127.0f / largest : 0.0f;
        for (i = 0; i + 16 <= n; i += 16) {
            const __m512i whole = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(from + i), _mm512_set1_ps(inverse)));
            _mm_storeu_si128((__m128i*)(to + i), _mm512_cvtepi32_epi8(_mm512_add_epi32(whole, _mm512_set1_epi32(128))));
        }
        for (; i < n; ++i) to[i] = static_cast<uint8_t>(_mm_cvtss_si32(_mm_set_ss(from[i] * inverse)) + 128);  // defined for NaN too
        std::memset(to + n, 128, padded - n);
        return scale;
    }
    template <int M, int STEP = 1>
    static inline void add(Sum (&sums)[M][4], const Act* a, size_t stride, const void* panel, int k) {
        const char* w = static_cast<const char*>(panel);
        Sum sum[M][4];
        copy_sums(sums, sum);
        for (int i = 0; i < k; i += 4, w += 256) {
            const __m512i w0 = _mm512_load_si512(w), w1 = _mm512_load_si512(w + 64);
            const __m512i w2 = _mm512_load_si512(w + 128), w3 = _mm512_load_si512(w + 192);
#pragma GCC unroll 8
            for (int r = 0; r < M; ++r) {
                int32_t four;
                std::memcpy(&four, a + r * stride + i * STEP, 4);
                const __m512i x = _mm512_set1_epi32(four);
                sum[r][0] = (IVec)_mm512_dpbusd_epi32((__m512i)sum[r][0], x, w0);
                sum[r][1] = (IVec)_mm512_dpbusd_epi32((__m512i)sum[r][1], x, w1);
                sum[r][2] = (IVec)_mm512_dpbusd_epi32((__m512i)sum[r][2], x, w2);
                sum[r][3] = (IVec)_mm512_dpbusd_epi32((__m512i)sum[r][3], x, w3);
            }
        }
        copy_sums(sum, sums);
    }
};
#endif

static inline int up(int64_t n, int to) { return int((n + to - 1) / to * to); }

extern "C" {
struct Matrix {  // packed; scale and shift are (columns,), for 8-bit weights only
    const void* panels;
    const float* scale;
    const int32_t* shift;
};
}

// ---- one tile

template <class K, int M>
static inline void finish(const typename K::Sum (&sum)[M][4], Vec (&out)[M][4], const Matrix& m, int panel, const float* scales) {
    if constexpr (K::SCALED) {
        for (int g = 0; g < 4; ++g) {
            const size_t column = size_t(panel) * PANEL + g * LANES;
            const Vec scale = load(m.scale + column);
            IVec shift;
            std::memcpy(&shift, m.shift + column, sizeof shift);
            for (int r = 0; r < M; ++r)
                // Unsigned, since the shift of weights that are NaN can have any value; their scale is NaN.
                out[r][g] += __builtin_convertvector((IVec)((UVec)sum[r][g] - (UVec)shift), Vec) * (scale * scales[r]);
        }
    } else {
        for (int r = 0; r < M; ++r)
            for (int g = 0; g < 4; ++g) out[r][g] += (Vec)sum[r][g];
    }
}

template <class F>
static void tiles(int rows, F&& tile) {  // full tiles, then one with the remaining rows
    int row = 0;
    for (; row + ROWS <= rows; row += ROWS) tile(std::integral_constant<int, ROWS>{}, row);
    switch (rows - row) {
        case 1: tile(std::integral_constant<int, 1>{}, row); break;
        case 2: tile(std::integral_constant<int, 2>{}, row); break;
        case 3: tile(std::integral_constant<int, 3>{}, row); break;
        case 4: tile(std::integral_constant<int, 4>{}, row); break;
        case 5: tile(std::integral_constant<int, 5>{}, row); break;
    }
}

// Adds the products of some rows with one panel to sums. The depth is cut into blocks, each of which stays in the cache for
// all rows; the sums are the same to the last bit as in one pass.
template <class K>
static void add_panel(typename K::Sum (*sums)[4], const typename K::Act* a, size_t stride, const void* panel, int depth, int rows) {
    using Act = typename K::Act;
    constexpr int BLOCK_DEPTH = 32768 / (PANEL * int(sizeof(Act)));
    for (int k = 0; k < depth; k += BLOCK_DEPTH) {
        const char* w = static_cast<const char*>(panel) + size_t(k) * PANEL * sizeof(Act);
        tiles(rows, [&](auto size, int row) {
            constexpr int M = decltype(size)::value;
            typename K::Sum sum[M][4];
            std::memcpy(sum, sums + row, sizeof sum);
            K::template add<M>(sum, a + size_t(row) * stride + k, stride, w, std::min(BLOCK_DEPTH, depth - k));
            std::memcpy(sums + row, sum, sizeof sum);
        });
    }
}
