// The worker threads: one set for the whole process, asleep while there is nothing to do.

#include "pool.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <deque>
#include <new>
#include <system_error>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

// Two symbols of the GNU libraries, defined here so that the compiled library also runs where they are older: the first is
// what reference counts ask, the second is called for an allocation that is too large.
#if defined(__GLIBC__)
extern "C" {
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;
}
#endif
#if defined(__GLIBCXX__)
namespace std {
[[noreturn]] __attribute__((visibility("hidden"))) void __throw_bad_array_new_length() { throw std::bad_array_new_length(); }
}
#endif

constexpr int MOST_WORKERS = 255;
constexpr int SPINS = 1000;  // some ten microseconds; phases of an LSTM step are about as short

static int cores() {
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
    return int(std::thread::hardware_concurrency());
}
static inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

Task::Task(std::vector<std::vector<int32_t>> lanes, Part part, void* context, bool spin)
    : part_(part), context_(context), spin_(spin) {
    for (std::vector<int32_t>& parts : lanes) {
        lanes_.push_back(std::make_unique<Lane>());
        lanes_.back()->parts = std::move(parts);
    }
}

bool Task::finished() const {
    return std::all_of(lanes_.begin(), lanes_.end(), [](const std::unique_ptr<Lane>& lane) { return lane->finished(); });
}

bool Task::take(Lane& lane, int number) {
    uint64_t ticket = lane.ticket.load(std::memory_order_acquire);
    for (;;) {
        const uint64_t phase = ticket >> 32;
        if (phase >= lane.parts.size() || int32_t(ticket) >= lane.parts[phase]) return false;
        if (lane.ticket.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel)) break;
    }
    const uint64_t phase = ticket >> 32;
    part_(context_, number, int(phase), int32_t(ticket));
    if (lane.done.fetch_add(1, std::memory_order_acq_rel) + 1 == lane.parts[phase]) {
        lane.done.store(0, std::memory_order_relaxed);
        lane.ticket.store((phase + 1) << 32, std::memory_order_release);
        changed();
    }
    return true;
}

void Task::changed() {
    changes_.fetch_add(1);
    if (sleepers_.load()) {
        std::lock_guard<std::mutex> lock(mutex_);
        wake_.notify_all();
    }
}

void Task::wait(uint32_t seen) {
    for (int i = 0; spin_ && i < SPINS; ++i) {
        if (changes_.load(std::memory_order_acquire) != seen) return;
        relax();
    }
    std::unique_lock<std::mutex> lock(mutex_);
    sleepers_.fetch_add(1);
    wake_.wait(lock, [&] { return changes_.load() != seen; });
    sleepers_.fetch_sub(1);
}

void Task::work(int member) {
    const size_t count = lanes_.size();
    for (;;) {
        const uint32_t seen = changes_.load();
        bool any = false;
        for (size_t i = 0; i < count && !any; ++i) {
            const size_t number = (member + i) % count;
            any = take(*lanes_[number], int(number));
        }
        if (any) continue;
        if (finished()) return;
        wait(seen);
    }
}

namespace {

struct Offer {  // a task that more threads may join
    std::shared_ptr<Task> task;
    int joined, most;
};

class Pool {
public:
    void run(const std::shared_ptr<Task>& task, int threads) {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            grow(threads - 1);
            offers_.push_back({task, 1, threads});
        }
        for (int i = 1; i < threads; ++i) wake_.notify_one();
        task->work(0);
        std::lock_guard<std::mutex> lock(mutex_);
        const auto own = [&](const Offer& offer) { return offer.task == task; };
        offers_.erase(std::remove_if(offers_.begin(), offers_.end(), own), offers_.end());
    }

private:
    void grow(int wanted) {
        sigset_t all, before;  // signals are for the program's own threads; on Linux the mask is that of this thread
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, &before);
        try {
            for (; workers_ < std::min(wanted, MOST_WORKERS); ++workers_) std::thread([this] { serve(); }).detach();
        } catch (const std::system_error&) {  // no more threads: the others do the work
        }
        sigprocmask(SIG_SETMASK, &before, nullptr);
    }

    void serve() {
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;) {
            wake_.wait(lock, [&] { return !offers_.empty(); });
            Offer& offer = offers_.front();
            const std::shared_ptr<Task> task = offer.task;
            const int member = offer.joined++;
            if (offer.joined == offer.most) offers_.pop_front();
            lock.unlock();
            task->work(member);
            lock.lock();
        }
    }

    std::mutex mutex_;
    Condition wake_;
    std::deque<Offer> offers_;
    int workers_ = 0;
};

// Never destroyed: its threads sleep in it until the process ends. A forked process has none of them, and makes its own.
Pool* pool() {
    static std::atomic<Pool*> current{new Pool};
    static const int registered = pthread_atfork(nullptr, nullptr, [] { current = new Pool; });
    (void)registered;
    return current;
}

}  // namespace

void run_task(int threads, std::vector<std::vector<int32_t>> lanes, Part part, void* context) {
    int64_t widest = 0;
    for (const std::vector<int32_t>& parts : lanes)
        if (!parts.empty()) widest += *std::max_element(parts.begin(), parts.end());
    threads = int(std::min<int64_t>(threads, widest));
    const auto task = std::make_shared<Task>(std::move(lanes), part, context, threads <= cores());
    if (threads <= 1)
        task->work(0);
    else
        pool()->run(task, threads);
}
