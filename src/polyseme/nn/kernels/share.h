// Shares work between threads that are started for one call.
#pragma once

#include <algorithm>
#include <thread>
#include <vector>

template <class F>
static void share(int threads, int64_t work, F&& job) {  // job(first, last) on about equal parts
    threads = int(std::max<int64_t>(1, std::min<int64_t>(threads, work)));
    std::vector<std::thread> others;
    for (int t = 1; t < threads; ++t) others.emplace_back([&, t] { job(work * t / threads, work * (t + 1) / threads); });
    job(0, work / threads);
    for (std::thread& other : others) other.join();
}
