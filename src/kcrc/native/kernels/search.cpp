// The exact search over stored codes or panels made on the way: see scan.hpp for the method, neighbours/scan.py for the
// bounds and codes.hpp for the codes.
#include <stdexcept>

#include "codes.hpp"
#include "kernels.hpp"
#include "scan.hpp"

namespace kcrc {
namespace {

constexpr int TOGETHER = 1024;  // queries at work together: to make panels, or to read codes, must pay
constexpr int BLOCK = 8;        // panels looked at between two questions whether to tighten
constexpr Index FIRST_BYTES = 1 << 19, FIRST_ROWS = 4096;  // a bar is set after the first examples, and raised
constexpr Index LATER = 4;                                 // each time that there were so many times more
constexpr std::size_t MOST_WAITING = 4096;                 // so many wait at most, or four times those wanted

// Panels of (x − centre)/scale, made as the scan comes by. Slots visit the rows in strides, so that examples sorted
// by class do not keep the bar low until the right class comes.
template <class S>
class MadePanels {
  public:
    static constexpr int ROWS = SCAN_ROWS, BYTES = sizeof(float);
    MadePanels(const S* vectors, const void* centre, Index n, Index width, double scale)
        : vectors_(vectors), centre_(centre), n_(n), width_(width), factor_(1.0 / scale), stride_(stride_for(n)) {}

    void ask(const Asked& asked, Index start, int here) {
        depth_ = asked.depth;
        const std::size_t room = std::size_t(rounded_up(here, NR)) * depth_;
        columns_ = columns_room_.get(room);
        std::fill_n(columns_, room, 0.0f);
        for (int q = 0; q < here; ++q)
            for (int k = 0; k < depth_; ++k)
                columns_[(static_cast<std::size_t>(q / NR) * depth_ + k) * NR + q % NR] =
                    asked.coordinates[(start + q) * depth_ + k];
    }

    // Make the panels first … first+count−1, and their examples' ‖a‖²/2.
    void turn_to(Index first, int count) {
        first_ = first;
        count_ = count;
        packed_ = packed_room_.get(static_cast<std::size_t>(count) * SCAN_ROWS * width_);
        halves_ = halves_room_.get(static_cast<std::size_t>(count) * SCAN_ROWS);
        float* line = line_.get(static_cast<std::size_t>(SCAN_ROWS) * width_);
        Index identity[SCAN_ROWS];
        for (int r = 0; r < SCAN_ROWS; ++r) identity[r] = r;
        for (int p = 0; p < count; ++p) {
            const Index slot = (first + p) * SCAN_ROWS;
            const int here = static_cast<int>(std::min<Index>(SCAN_ROWS, n_ - slot));
            for (int r = 0; r < SCAN_ROWS; ++r)
                halves_[p * SCAN_ROWS + r] =
                    r < here ? centred(vectors_ + row_of(slot + r) * width_, line + r * width_) : INFINITY;
            pack_rows<float, float>(line, width_, identity, here,
                                    packed_ + static_cast<std::size_t>(p) * SCAN_ROWS * width_, unused_);
        }
    }

    // These panels for the queries from … to−1; ``from`` is a multiple of NR.
    template <class List>
    void look(int from, int to, List* lists) const {
        constexpr int W = lanes<float>;
        for (int p = 0; p < count_; ++p) {
            const float* panel = packed_ + static_cast<std::size_t>(p) * depth_ * SCAN_ROWS;
            for (int q = from; q < to; q += NR) {
                Tile<float> tile;
                for (int j = 0; j < NR; ++j)
                    for (int v = 0; v < 3; ++v)
                        tile.sum[j][v] = Vec<float>{} - load<float>(halves_ + p * SCAN_ROWS + v * W);
                tile.accumulate<false, NR>(panel, columns_ + static_cast<std::size_t>(q / NR) * depth_ * NR, depth_);
                for (int j = 0; j < std::min(NR, to - q); ++j)
                    collect<3>(tile.sum[j], (first_ + p) * SCAN_ROWS, n_, lists[q + j]);
            }
        }
    }
    Index row_of(Index slot) const { return slot * stride_ % n_; }

  private:
    const S* vectors_;
    const void* centre_;
    Index n_, width_;
    double factor_;
    Index stride_;
    Index first_ = 0;
    int count_ = 0, depth_ = 0;
    float *columns_ = nullptr, *packed_ = nullptr, *halves_ = nullptr;
    Buffer<float> packed_room_, halves_room_, line_, unused_, columns_room_;

    static Index stride_for(Index n) {
        Index stride = std::max<Index>(1, static_cast<Index>(0.618 * static_cast<double>(n)));
        const auto divisor = [](Index a, Index b) {
            while (b) a = std::exchange(b, a % b);
            return a;
        };
        while (divisor(n, stride) != 1) ++stride;
        return stride;
    }
    // One row of scan coordinates; returns half its square. The centre is a float and the factor a power of 2.
    float centred(const S* row, float* out) const {
        using A = typename Plain<S>::type;
        const auto* centre = static_cast<const A*>(centre_);
        const A factor = static_cast<A>(factor_);
        for (Index k = 0; k < width_; ++k) out[k] = static_cast<float>((static_cast<A>(row[k]) - centre[k]) * factor);
        constexpr int W = lanes<float>;
        Vec<float> sum{};
        Index k = 0;
        for (; k + W <= width_; k += W) sum += load<float>(out + k) * load<float>(out + k);
        float total = sum_of<float>(sum);
        for (; k < width_; ++k) total += out[k] * out[k];
        return 0.5f * total;
    }
};

// Codes that are stored, with their facts and the example in each slot.
class StoredCodes {
  public:
    static constexpr int ROWS = CODE_ROWS, BYTES = 1;
    StoredCodes(const Examples& examples)
        : codes_(examples.codes), facts_(examples.facts), slots_(examples.slots), n_(examples.n) {}

    void ask(const Asked& asked, Index start, int here) {
        steps_ = code_steps(asked.depth);
        const int quads = rounded_up(here, NR) / NR;
        const std::size_t room = std::size_t(steps_) * NR;
        std::int32_t* columns = columns_room_.get(quads * room);
        std::fill_n(columns, quads * room, 0);
        std::int8_t* own = own_.get(std::size_t(steps_) * CODE_STEP);
        queries_.assign(quads, {});
        for (int q = 0; q < here; ++q) {
            CodedQueries& quad = queries_[q / NR];
            quad.columns = columns + q / NR * room;
            quad.put(q % NR, asked.coordinates + (start + q) * asked.depth, asked.depth, own);
        }
    }

    void turn_to(Index first, int count) {
        first_ = first;
        count_ = count;
    }
    template <class List>
    void look(int from, int to, List* lists) const {
        for (int q = from; q < to; q += NR) {
            if (to - q == 1) look_for<1>(queries_[q / NR], 1, lists + q);
            else look_for<NR>(queries_[q / NR], std::min(NR, to - q), lists + q);
        }
    }
    // Looked at where one is measured: to go over all of them would take as long as some searches.
    Index row_of(Index slot) const {
        const Index row = slots_[slot];
        if (row < 0 || row >= n_) throw std::invalid_argument("slots name examples that are there");
        return row;
    }

  private:
    const std::uint8_t* codes_;
    const float* facts_;
    const std::int32_t* slots_;
    Index n_;
    Index first_ = 0;
    int count_ = 0, steps_ = 0;
    std::vector<CodedQueries> queries_;
    Buffer<std::int32_t> columns_room_;
    Buffer<std::int8_t> own_;

    template <int COUNT, class List>
    void look_for(const CodedQueries& queries, int here, List* lists) const {
        for (Index p = first_; p < first_ + count_; ++p) {
            Vec<float> score[COUNT][CODE_VECTORS];
            code_scores<COUNT>(codes_ + p * steps_ * CODE_ROWS * CODE_STEP, facts_ + p * FACTS * CODE_ROWS, steps_,
                               queries, score);
            for (int q = 0; q < here; ++q) collect<CODE_VECTORS>(score[q], p * CODE_ROWS, n_, lists[q]);
        }
    }
};

template <class S, class Q, class Screen>
struct Measured {
    const S* vectors;
    Index width;
    const Screen& screen;

    std::pair<double, Index> operator()(const Q* query, std::int32_t slot, double enough) const {
        const Index row = screen.row_of(slot);
        return {or_far(squared_distance<S, Q>(vectors + row * width, query, width, enough)), row};
    }
    void fetch(std::int32_t slot) const {
        kcrc::fetch(vectors + screen.row_of(slot) * width, std::min<std::size_t>(width * sizeof(S), 4096));
    }
};

// The k nearest of query i, nearest first.
void write_down(std::vector<Neighbour>& best, const Asked& asked, Index i) {
    std::sort(best.begin(), best.end());
    for (int j = 0; j < asked.k; ++j) {
        asked.squared[i * asked.k + j] = best[j].first;
        asked.rows[i * asked.k + j] = best[j].second;
    }
}

// Query i with every example measured: where making panels would cost more than it saves, and wherever the scan's
// single precision cannot tell.
template <class S, class Q>
void measure_all(const S* vectors, const Q* queries, Index n, Index width, const Asked& asked, Index i) {
    std::vector<Neighbour> best;
    for (Index row = 0; row < n; ++row) {
        const bool full = static_cast<int>(best.size()) == asked.k;
        const double enough = full ? best.front().first * (1 + 1e-12) : std::numeric_limits<double>::infinity();
        const double squared = squared_distance<S, Q>(vectors + row * width, queries + i * width, width, enough);
        keep_nearest(best, asked.k, {or_far(squared), row});
    }
    write_down(best, asked, i);
}

template <class S, class Q, class Screen>
void scan_all(const S* vectors, const Q* queries, Index n, Index width, Screen screen, const Asked& asked) {
    std::vector<Shortlist<S, Q>> lists(std::min<Index>(asked.batch, TOGETHER));
    Choosing choosing;
    Waiting many[NR];
    const Measured<S, Q, Screen> measure{vectors, width, screen};
    const Index panels = (n + Screen::ROWS - 1) / Screen::ROWS;
    const std::size_t most_waiting = std::max(MOST_WAITING, 4 * std::size_t(asked.k));
    for (Index start = 0; start < asked.batch; start += TOGETHER) {
        const int here = static_cast<int>(std::min<Index>(TOGETHER, asked.batch - start));
        screen.ask(asked, start, here);
        for (Index i = start; i < start + here; ++i)
            lists[i - start].start(queries + i * width, asked.k, asked.square[i], asked.rounding[i], asked.slack[i],
                                   asked.scale);
        Index beginning = 0, next = 2 * Index(asked.k) / Screen::ROWS + 1;
        const Index few = std::min(FIRST_ROWS, FIRST_BYTES / (Screen::BYTES * asked.depth) + 512);
        if (few >= 2 * asked.k) {  // they come to a few queries at a time: before there is a bar, all of them wait
            beginning = std::min(panels, few / Screen::ROWS);
            next = LATER * beginning;
            screen.turn_to(0, static_cast<int>(beginning));
            for (int q = 0; q < here; q += NR) {
                const int end = std::min(here, q + NR);
                for (int i = q; i < end; ++i) std::swap(lists[i].waiting, many[i - q]);
                screen.look(q, end, lists.data());
                for (int i = q; i < end; ++i) {
                    lists[i].tighten(measure, choosing);
                    std::swap(lists[i].waiting, many[i - q]);
                    lists[i].waiting.take(many[i - q], lists[i].bar, std::numeric_limits<float>::infinity());
                    many[i - q].clear();
                }
            }
        }
        for (Index first = beginning; first < panels; first += BLOCK) {
            const int count = static_cast<int>(std::min<Index>(BLOCK, panels - first));
            screen.turn_to(first, count);
            screen.look(0, here, lists.data());
            const bool all = first + count >= next;
            if (all) next *= LATER;
            for (int q = 0; q < here; ++q) {
                const bool full = lists[q].waiting.size() > most_waiting;
                if (all || full) lists[q].tighten(measure, choosing);
                if (full && lists[q].waiting.size() > most_waiting / 2) lists[q].settle(measure, choosing);
            }
        }
        for (int q = 0; q < here; ++q) {
            auto& list = lists[q];
            list.settle(measure, choosing);
            if (static_cast<int>(list.best.size()) < asked.k) {  // coordinates that are no numbers ruled examples out
                measure_all<S, Q>(vectors, queries, n, width, asked, start + q);
                continue;
            }
            write_down(list.best, asked, start + q);
        }
    }
}

template <class S, class Q>
void search(const Examples& examples, const Asked& asked) {
    const auto* atoms = static_cast<const S*>(examples.vectors);
    const auto* asking = static_cast<const Q*>(asked.queries);
    const Index n = examples.n, width = examples.width;
    if (examples.codes) {
        scan_all<S, Q>(atoms, asking, n, width, StoredCodes(examples), asked);
    } else if (!examples.centre || asked.batch <= 2 || n <= SCAN_ROWS) {
        for (Index i = 0; i < asked.batch; ++i) measure_all<S, Q>(atoms, asking, n, width, asked, i);
    } else {
        scan_all<S, Q>(atoms, asking, n, width, MadePanels<S>(atoms, examples.centre, n, width, asked.scale), asked);
    }
}

}  // namespace

void encode_rows(const float* coordinates, Index count, int depth, Index first, std::uint8_t* codes, float* facts) {
    const Index panel = Index(code_steps(depth)) * CODE_ROWS * CODE_STEP;
    std::vector<std::int8_t> own(std::size_t(code_steps(depth)) * CODE_STEP);
    for (Index i = 0; i < count; ++i) {
        const Index p = (first + i) / CODE_ROWS, r = (first + i) % CODE_ROWS;
        encode_row(coordinates + i * depth, depth, own.data(), codes + p * panel + r * CODE_STEP,
                   facts + p * FACTS * CODE_ROWS + r);
    }
}

void nearest(const Examples& examples, const Asked& asked) {
    by_storage(examples.storage, [&](auto stored) {
        using S = decltype(stored);
        if (asked.wide) search<S, double>(examples, asked);
        else search<S, float>(examples, asked);
    });
}

}  // namespace kcrc
