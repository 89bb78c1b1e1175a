// Puts columns of a matrix side by side in the order of a panel: (depth / PACK, LANES, PACK) for each group of LANES.
#pragma once

#include "common.h"

struct Source {        // element (column, k) is at column * across + k * along
    const void* data;
    int64_t across, along;
    bool half;         // bfloat16 instead of float32
    float at(int64_t column, int64_t k) const {
        const int64_t place = column * across + k * along;
        if (!half) return static_cast<const float*>(data)[place];
        const uint32_t bits = uint32_t(static_cast<const uint16_t*>(data)[place]) << 16;
        float value;
        std::memcpy(&value, &bits, 4);
        return value;
    }
};

#if defined(__AVX512F__)
// 16 rows of 16 numbers of 32 bits, transposed.
static inline void transpose(__m512i (&r)[16]) {
    __m512i t[16];
    for (int i = 0; i < 8; ++i) {
        t[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
    }
    for (int i = 0; i < 4; ++i) {
        r[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
        r[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
        r[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
        r[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
    }
    for (int i = 0; i < 4; ++i) {  // r[4 * q + i] has column 4 * block + i of rows 4 * q .. 4 * q + 3 in each 128-bit block
        const __m512i low = _mm512_shuffle_i32x4(r[i], r[4 + i], 0x88), high = _mm512_shuffle_i32x4(r[i], r[4 + i], 0xdd);
        const __m512i low2 = _mm512_shuffle_i32x4(r[8 + i], r[12 + i], 0x88), high2 = _mm512_shuffle_i32x4(r[8 + i], r[12 + i], 0xdd);
        t[i] = _mm512_shuffle_i32x4(low, low2, 0x88);
        t[4 + i] = _mm512_shuffle_i32x4(high, high2, 0x88);
        t[8 + i] = _mm512_shuffle_i32x4(low, low2, 0xdd);
        t[12 + i] = _mm512_shuffle_i32x4(high, high2, 0xdd);
    }
    for (int i = 0; i < 16; ++i) r[i] = t[i];
}
#endif
#if defined(__AVX512BF16__)
static inline __m512i sixteen_pairs(const Source& s, int64_t place) {  // 32 numbers that follow each other, as bfloat16
    if (s.half) return _mm512_loadu_si512(static_cast<const uint16_t*>(s.data) + place);
    const float* from = static_cast<const float*>(s.data) + place;
    return (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + 16), _mm512_loadu_ps(from));
}
static inline __m512i widened(const Source& s, int64_t place) {  // 16 numbers as bfloat16, in the lower halves of 32 bits
    if (s.half) return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)(static_cast<const uint16_t*>(s.data) + place)));
    return _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(_mm512_loadu_ps(static_cast<const float*>(s.data) + place)));
}
#endif

// Packs ``columns`` (up to LANES) from ``first`` on; the others are zeros, and so is what is beyond the depth.
// k runs over [begin, end), and each PACK of them goes to out + (k - begin) / PACK * step.
template <class K>
static void pack_lanes(const Source& s, int64_t first, int columns, int64_t begin, int64_t end, typename K::Act* out, size_t step) {
    using Act = typename K::Act;
    int64_t k = begin;
    if (columns == LANES) {
#if defined(__AVX512BF16__)
        if constexpr (K::PACK == 2) {
            if (s.along == 1)
                for (; k + 32 <= end; k += 32, out += 16 * step) {
                    __m512i rows[16];
                    for (int c = 0; c < 16; ++c) rows[c] = sixteen_pairs(s, (first + c) * s.across + k);
                    transpose(rows);
                    for (int i = 0; i < 16; ++i) _mm512_storeu_si512(out + i * step, rows[i]);
                }
            else if (s.across == 1)
                for (; k + 2 <= end; k += 2, out += step) {
                    const __m512i even = widened(s, first + k * s.along), odd = widened(s, first + (k + 1) * s.along);
                    _mm512_storeu_si512(out, _mm512_or_si512(even, _mm512_slli_epi32(odd, 16)));
                }
        }
#endif
        if constexpr (K::PACK == 1) {
            const float* from = static_cast<const float*>(s.data) + first * s.across;
            if (s.across == 1)
                for (; k < end; ++k, out += step) std::memcpy(out, from + k * s.along, LANES * sizeof(float));
#if defined(__AVX512F__)
            else if (s.along == 1)
                for (; k + 16 <= end; k += 16, out += 16 * step) {
                    __m512i rows[16];
                    for (int c = 0; c < 16; ++c) rows[c] = _mm512_loadu_si512(from + c * s.across + k);
                    transpose(rows);
                    for (int i = 0; i < 16; ++i) _mm512_storeu_si512(out + i * step, rows[i]);
                }
#endif
        }
    }
    for (; k < end; k += K::PACK, out += step) {
        Act group[LANES * K::PACK] = {};
        for (int p = 0; p < K::PACK && k + p < end; ++p)
            for (int c = 0; c < columns; ++c) group[c * K::PACK + p] = K::one(s.at(first + c, k + p));
        std::memcpy(out, group, sizeof group);
    }
}
