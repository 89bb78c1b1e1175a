// Work in small parts that threads take on demand, and the worker threads that take them.
//
// The parts have a fixed size, whatever the number of threads, and each number of a result is computed by one part, so
// that results do not depend on how many threads there are or on which of them takes what. The calling thread always
// takes part and can finish alone: a worker that the system does not schedule holds nobody up, unless it has taken a part.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <vector>

using Part = void (*)(void* context, int lane, int phase, int part);

// As std::condition_variable, which would tie the library to a newer C++ library than it needs otherwise.
class Condition {
public:
    template <class F>
    void wait(std::unique_lock<std::mutex>& lock, F&& ready) {
        while (!ready()) pthread_cond_wait(&condition_, lock.mutex()->native_handle());
    }
    void notify_one() { pthread_cond_signal(&condition_); }
    void notify_all() { pthread_cond_broadcast(&condition_); }

private:
    pthread_cond_t condition_ = PTHREAD_COND_INITIALIZER;
};

class Task {
public:
    // A lane is a sequence of phases, given by their numbers of parts, each at least 1. The parts of a phase are done in any
    // order, and all of them before the next phase. Lanes do not depend on each other.
    Task(std::vector<std::vector<int32_t>> lanes, Part part, void* context, bool spin);
    void work(int member);  // take parts until all are done; member: 0 for the caller, which prefers the first lane

private:
    struct Lane {
        std::vector<int32_t> parts;          // of each phase
        std::atomic<uint64_t> ticket{0};     // phase << 32 | the next part
        std::atomic<int32_t> done{0};        // parts of this phase
        bool finished() const { return (ticket.load(std::memory_order_acquire) >> 32) >= parts.size(); }
    };
    bool take(Lane& lane, int number);
    bool finished() const;
    void changed();
    void wait(uint32_t seen);

    std::vector<std::unique_ptr<Lane>> lanes_;
    const Part part_;
    void* const context_;
    const bool spin_;
    std::atomic<uint32_t> changes_{0}, sleepers_{0};
    std::mutex mutex_;
    Condition wake_;
};

// Does the parts with up to this many threads, the calling one included.
void run_task(int threads, std::vector<std::vector<int32_t>> lanes, Part part, void* context);

// job(lane, phase, part)
template <class F>
static void run_lanes(int64_t threads, std::vector<std::vector<int32_t>> lanes, F&& job) {
    run_task(int(threads), std::move(lanes),
             [](void* context, int lane, int phase, int part) { (*static_cast<F*>(context))(lane, phase, part); }, &job);
}

// job(part) for each of so many parts
template <class F>
static void share(int64_t threads, int64_t parts, F&& job) {
    if (threads <= 1 || parts <= 1) {
        for (int64_t part = 0; part < parts; ++part) job(part);
        return;
    }
    run_lanes(threads, {{int32_t(parts)}}, [&](int, int, int part) { job(part); });
}

// job(first, last) on parts of a fixed size
template <class F>
static void share_range(int64_t threads, int64_t work, int64_t size, F&& job) {
    share(threads, (work + size - 1) / size, [&](int64_t part) { job(part * size, part * size + size < work ? part * size + size : work); });
}
