// The search and the local stage for one query, through what serves a batch: the answer is the same to the last bit.
#include "single.hpp"

#include <cmath>

#include "scan.hpp"

namespace kcrc {
namespace {

// The k nearest of all that are offered. An example that may be one of them waits in a list several times as long,
// which is sorted when it is full: a heap would go another way for every query, and a CPU guess wrong at each of its
// turns.
class Nearest {
  public:
    Nearest(std::vector<Neighbour>& room, int k) : list_(room), k_(k) {
        list_.resize(std::max(list_.size(), 4 * static_cast<std::size_t>(k) + 64));
    }
    double bar() const { return bar_; }
    void offer(double squared, Index row) {
        list_[count_] = {squared, row};
        count_ += squared <= bar_;
        if (count_ == list_.size()) shrink();
    }
    // Ascending, ties by row.
    const Neighbour* sorted() {
        shrink();
        std::sort(list_.begin(), list_.begin() + k_);
        return list_.data();
    }

  private:
    std::vector<Neighbour>& list_;
    int k_;
    std::size_t count_ = 0;
    double bar_ = std::numeric_limits<double>::infinity();

    void shrink() {
        std::nth_element(list_.begin(), list_.begin() + (k_ - 1), list_.begin() + count_);
        count_ = k_;
        bar_ = list_[k_ - 1].first;
    }
};

// What a thread keeps from one query to the next.
struct Room {
    Buffer<Index> rows;
    Buffer<double> squared, working, centred, leading;
    Buffer<float> coordinates;
    std::vector<Neighbour> nearest;

    static Room& of_thread() {
        static thread_local Room room;
        return room;
    }
    void trim() {  // a thread keeps no more than this after a query with unusually many neighbours
        if (nearest.size() * sizeof(Neighbour) > (std::size_t(32) << 20)) *this = {};
    }
};

// Returns ‖coordinates‖².
template <class Q>
double scan_coordinates(const SingleModel& model, const Q* query, Room& room, float* out) {
    const Index width = model.examples.width, leading = model.depth - 1;
    double square = 0;
    if (!model.basis) {
        for (Index k = 0; k < width; ++k) {
            out[k] = narrowed<float>((double(query[k]) - model.centre[k]) / model.scale);
            square += double(out[k]) * double(out[k]);
        }
        return square;
    }
    double* z = room.centred.get(width);
    double* along = room.leading.get(leading);
    std::fill(along, along + leading, 0.0);
    double rest = 0;
    for (Index k = 0; k < width; ++k) {
        z[k] = (double(query[k]) - model.centre[k]) / model.scale;
        rest += z[k] * z[k];
        const double* direction = model.basis + k * leading;
        for (Index p = 0; p < leading; ++p) along[p] += z[k] * direction[p];
    }
    for (Index p = 0; p < leading; ++p) {
        rest -= along[p] * along[p];
        out[p] = narrowed<float>(along[p]);
    }
    out[leading] = narrowed<float>(std::sqrt(std::max(rest, 0.0)));
    for (Index p = 0; p <= leading; ++p) square += double(out[p]) * double(out[p]);
    return square;
}

// Every example measured.
template <class S, class Q>
void measure_all(const Examples& examples, const Q* query, int k, Room& room, Index* rows, double* squared) {
    const auto* vectors = static_cast<const S*>(examples.vectors);
    Nearest nearest(room.nearest, k);
    for (Index row = 0; row < examples.n; ++row) {
        const double enough = nearest.bar() * (1 + 1e-12);
        const double found = squared_distance<S, Q>(vectors + row * examples.width, query, examples.width, enough);
        nearest.offer(or_far(found), row);
    }
    const Neighbour* best = nearest.sorted();
    for (int j = 0; j < k; ++j) {
        squared[j] = best[j].first;
        rows[j] = best[j].second;
    }
}

template <class Q>
bool find(const SingleModel& model, const Q* query, Room& room, Index* rows, double* squared) {
    const int k = static_cast<int>(model.chunk.K);
    if (!model.examples.codes) {
        by_storage(model.examples.storage, [&](auto stored) {
            measure_all<decltype(stored), Q>(model.examples, query, k, room, rows, squared);
        });
        return true;
    }
    float* coordinates = room.coordinates.get(model.depth);
    const double square = scan_coordinates<Q>(model, query, room, coordinates);
    if (!(square <= model.farthest * model.farthest)) return false;
    const double length = std::sqrt(square) + model.reach;
    const double rounding = model.rounding * length, slack = model.slack * length;
    Asked asked{};
    asked.queries = query;
    asked.wide = std::is_same_v<Q, double>;
    asked.batch = 1;
    asked.k = k;
    asked.rows = rows;
    asked.squared = squared;
    asked.coordinates = coordinates;
    asked.depth = model.depth;
    asked.scale = model.scale;
    asked.square = &square;
    asked.rounding = &rounding;
    asked.slack = &slack;
    nearest(model.examples, asked);
    return true;
}

// The query in the stage's working precision, which is never narrower.
template <class Q>
const void* working(const SingleModel& model, const Q* query, Room& room) {
    if (model.chunk.wide == std::is_same_v<Q, double>) return query;
    double* wide = room.working.get(model.examples.width);
    std::copy(query, query + model.examples.width, wide);
    return wide;
}

template <class Q>
bool answer(const SingleModel& model, const Q* query, double self, const SingleAnswer& out) {
    const Index K = model.chunk.K, classes = model.chunk.settings.n_classes;
    Room& room = Room::of_thread();
    Index* rows = room.rows.get(K);
    double* squared = room.squared.get(K);
    if (!find<Q>(model, query, room, rows, squared)) return false;
    for (Index j = 0; j < K; ++j) {
        out.rows[j] = model.ids[rows[j]];
        out.labels[j] = model.chunk.labels[rows[j]];
        out.distances[j] = model.root ? std::sqrt(squared[j]) : squared[j];
        if (model.root) squared[j] = out.distances[j] * out.distances[j];  // as where only distances are known
    }
    const Answers& answers = out.answers;  // as if the neighbours agreed; the stage fills in the others
    std::fill(answers.coefficients, answers.coefficients + K, 0.0);
    std::fill(answers.contributions, answers.contributions + K, 0.0);
    std::fill(answers.residuals, answers.residuals + classes, std::numeric_limits<double>::infinity());
    answers.residuals[out.labels[0]] = 0.0;
    *answers.energy = 0.0;
    *answers.winner = out.labels[0];
    Chunk chunk = model.chunk;
    chunk.rows = rows;
    chunk.self = &self;
    if (model.by_distance) chunk.squared = squared;
    else chunk.queries = working<Q>(model, query, room);
    local_stage(chunk, answers);
    room.trim();
    return *answers.flags != NOT_POSITIVE;
}

}  // namespace

bool answer_single(const SingleModel& model, const void* query, bool wide, double self, const SingleAnswer& out) {
    return wide ? answer<double>(model, static_cast<const double*>(query), self, out)
                : answer<float>(model, static_cast<const float*>(query), self, out);
}

}  // namespace kcrc
