// Shape context distances of many pairs: the compiled form of distances/shape_matching.py, step for step.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels.hpp"

namespace kcrc {
namespace {

using Values = std::vector<double>;

constexpr double kTieWeight = 1e-6;     // TIE_WEIGHT
constexpr double kAffineSlack = 1e-11;  // AFFINE_SLACK
constexpr double kPi = 3.141592653589793238462643383279502884;

struct Shape {  // rows of one sample; points are (y, x)
    const double *points, *contexts, *patches;
    int count;
};

Shape shape(const Shapes& all, Index i) {
    const Index first = i * all.capacity;
    return {all.points + first * 2, all.contexts + first * all.bins, all.patches + first * all.window,
            static_cast<int>(all.count[i])};
}

struct Bent {
    double cost, bending, appearance;
};

class Matcher {
  public:
    Matcher(const Matching& matching, std::size_t window)
        : matching_(matching), bins_(matching.radii * matching.angles), window_(window) {}

    Bent bend(const Shape& a, const Shape& b) {
        const int n = a.count, m = b.count;
        warped_.assign(a.points, a.points + 2 * n);
        transpose(b);
        context_costs(a.contexts, n, m);
        if (matching_.iterations > 0) bumps(a);
        double bending = 0.0;
        for (int round = 0; round < matching_.iterations; ++round) {
            add_ties(b, n, m);
            assign(n, m);
            if (rows_.size() < 3) break;
            bending = thin_plate(a, b);
            if (!std::isfinite(bending)) {  // points so far apart that the spline is lost: the shape stays as it is
                warped_.assign(a.points, a.points + 2 * n);
                bending = 0.0;
                break;
            }
            contexts(n);
            context_costs(contexts_.data(), n, m);
        }
        add_ties(b, n, m);
        return summed(a, b, bending);
    }

  private:
    void transpose(const Shape& b) {
        turned_.resize(bins_ * b.count);
        for (int j = 0; j < b.count; ++j)
            for (std::size_t k = 0; k < bins_; ++k) turned_[k * b.count + j] = b.contexts[j * bins_ + k];
    }

    // ½ Σ (g − h)² / (g + h), a row at a time with the columns innermost, so that columns fill the vector lanes.
    void context_costs(const double* left, int n, int m) {
        costs_.assign(static_cast<std::size_t>(n) * m, 0.0);
        for (int i = 0; i < n; ++i) {
            double* row = costs_.data() + static_cast<std::size_t>(i) * m;
            for (std::size_t k = 0; k < bins_; ++k) {
                const double g = left[i * bins_ + k];
                const double* h = turned_.data() + k * m;
                if (g == 0.0) {
                    for (int j = 0; j < m; ++j) row[j] += h[j];
                } else {
                    for (int j = 0; j < m; ++j) {
                        const double difference = g - h[j];
                        row[j] += difference * difference / (g + h[j]);
                    }
                }
            }
            for (int j = 0; j < m; ++j) row[j] *= 0.5;
        }
    }

    void add_ties(const Shape& b, int n, int m) {
        tied_.resize(costs_.size());
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < m; ++j) {
                const double dy = warped_[2 * i] - b.points[2 * j], dx = warped_[2 * i + 1] - b.points[2 * j + 1];
                const double cost = costs_[i * m + j] + kTieWeight * (dy * dy + dx * dx);
                tied_[i * m + j] = std::fabs(cost) <= FARTHEST ? cost : FARTHEST;
            }
    }

    // Least-cost assignment by shortest augmenting paths. Every real row takes a column: a real one, or one of as many
    // dummies as the square problem has. Its dummy rows cost the same wherever they go, so they are left out.
    void assign(int n, int m) {
        constexpr double far = std::numeric_limits<double>::infinity();
        const int large = std::max(n, m);
        const int size = large + static_cast<int>(std::nearbyint(matching_.dummies * large));
        row_price_.assign(n, 0.0);
        column_price_.assign(size, 0.0);
        column_of_.assign(n, -1);
        row_of_.assign(size, -1);
        from_.resize(size);
        open_.resize(size);
        for (int start = 0; start < n; ++start) {
            shortest_.assign(size, far);
            for (int j = 0; j < size; ++j) open_[j] = j;
            int n_open = size, row = start, end = -1;
            double reached = 0.0;
            while (end < 0) {
                const double* costs = tied_.data() + static_cast<std::size_t>(row) * m;
                const double base = reached - row_price_[row];
                double least = far;
                int best = -1;
                for (int o = 0; o < n_open; ++o) {
                    const int j = open_[o];
                    const double length = base + (j < m ? costs[j] : matching_.dummy_cost) - column_price_[j];
                    if (length < shortest_[j]) {
                        shortest_[j] = length;
                        from_[j] = row;
                    }
                    // Of equally near columns a free one ends the search.
                    if (shortest_[j] < least || (shortest_[j] == least && row_of_[j] < 0)) {
                        least = shortest_[j];
                        best = o;
                    }
                }
                reached = least;
                const int column = open_[best];
                open_[best] = open_[--n_open];
                open_[n_open] = column;  // behind the open ones: those the search has passed
                if (row_of_[column] < 0) end = column;
                else row = row_of_[column];
            }
            row_price_[start] += reached;
            for (int o = n_open; o < size; ++o) {
                const int j = open_[o];
                if (row_of_[j] >= 0) row_price_[row_of_[j]] += reached - shortest_[j];
                column_price_[j] -= reached - shortest_[j];
            }
            for (int j = end;;) {
                const int i = from_[j];
                row_of_[j] = i;
                std::swap(column_of_[i], j);
                if (i == start) break;
            }
        }
        rows_.clear();
        columns_.clear();
        for (int i = 0; i < n; ++i)
            if (column_of_[i] < m) {
                rows_.push_back(i);
                columns_.push_back(column_of_[i]);
            }
    }

    // U(r) = r² log r² between all points of a: every spline that bends it is made of these.
    void bumps(const Shape& a) {
        const int n = a.count;
        bumps_.resize(static_cast<std::size_t>(n) * n);
        for (int i = 0; i < n; ++i) {
            bumps_[i * n + i] = 0.0;
            for (int j = 0; j < i; ++j) {
                const double dy = a.points[2 * i] - a.points[2 * j], dx = a.points[2 * i + 1] - a.points[2 * j + 1];
                const double squared = dy * dy + dx * dx;
                bumps_[i * n + j] = bumps_[j * n + i] = squared > 0 ? squared * std::log(squared) : 0.0;
            }
        }
    }

    // Sets warped_ to where the spline through the matched points takes all points of a; returns its energy, NaN where
    // it takes one of them nowhere.
    double thin_plate(const Shape& a, const Shape& b) {
        const int n = a.count, k = static_cast<int>(rows_.size()), size = k + 3;
        const int wide = size + 2;  // the system and, behind it, its two right sides
        system_.assign(static_cast<std::size_t>(size) * wide, 0.0);
        for (int p = 0; p < k; ++p) {
            double* row = system_.data() + static_cast<std::size_t>(p) * wide;
            const double* point = a.points + 2 * rows_[p];
            for (int q = 0; q < k; ++q) row[q] = bumps_[rows_[p] * n + rows_[q]];
            row[p] += matching_.stiffness;
            row[k] = 1.0;
            row[k + 1] = point[0];
            row[k + 2] = point[1];
            for (int c = 0; c < 3; ++c) system_[static_cast<std::size_t>(k + c) * wide + p] = row[k + c];
            row[size] = b.points[2 * columns_[p]];
            row[size + 1] = b.points[2 * columns_[p] + 1];
        }
        for (int c = 0; c < 3; ++c) system_[static_cast<std::size_t>(k + c) * wide + k + c] = -kAffineSlack;
        solve(size, wide);
        double bending = 0.0;
        for (int p = 0; p < k; ++p)
            for (int axis = 0; axis < 2; ++axis) {
                double bent = 0.0;
                for (int q = 0; q < k; ++q) bent += bumps_[rows_[p] * n + rows_[q]] * solved(q, axis, wide, size);
                bending += solved(p, axis, wide, size) * bent;
            }
        for (int i = 0; i < n; ++i)
            for (int axis = 0; axis < 2; ++axis) {
                double value = solved(k, axis, wide, size) + solved(k + 1, axis, wide, size) * a.points[2 * i] +
                               solved(k + 2, axis, wide, size) * a.points[2 * i + 1];
                for (int q = 0; q < k; ++q) value += bumps_[i * n + rows_[q]] * solved(q, axis, wide, size);
                if (!(std::fabs(value) <= FARTHEST)) return std::numeric_limits<double>::quiet_NaN();
                warped_[2 * i + axis] = value;
            }
        return bending > 0.0 ? 0.5 * bending : std::isnan(bending) ? bending : 0.0;
    }

    double solved(int row, int axis, int wide, int size) const {
        return system_[static_cast<std::size_t>(row) * wide + size + axis];
    }

    // Gaussian elimination with row exchanges, in place; the solution ends where the right sides were.
    void solve(int size, int wide) {
        double* s = system_.data();
        for (int p = 0; p < size; ++p) {
            int pivot = p;
            for (int r = p + 1; r < size; ++r)
                if (std::fabs(s[r * wide + p]) > std::fabs(s[pivot * wide + p])) pivot = r;
            if (pivot != p) std::swap_ranges(s + p * wide + p, s + (p + 1) * wide, s + pivot * wide + p);
            const double inverse = 1.0 / s[p * wide + p];
            for (int r = p + 1; r < size; ++r) {
                const double factor = s[r * wide + p] * inverse;
                if (factor == 0.0) continue;
                for (int c = p + 1; c < wide; ++c) s[r * wide + c] -= factor * s[p * wide + c];
            }
        }
        for (int p = size - 1; p >= 0; --p)
            for (int c = size; c < wide; ++c) {
                double value = s[p * wide + c];
                for (int q = p + 1; q < size; ++q) value -= s[p * wide + q] * s[q * wide + c];
                s[p * wide + c] = value / s[p * wide + p];
            }
    }

    // Log-polar histograms of the warped points. A pair is looked at once: the way back is half a turn on.
    void contexts(int n) {
        contexts_.assign(n * bins_, 0.0);
        if (n < 2) return;
        lengths_.resize(static_cast<std::size_t>(n) * n);
        double sum = 0.0;
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < i; ++j) {
                const double dy = warped_[2 * i] - warped_[2 * j], dx = warped_[2 * i + 1] - warped_[2 * j + 1];
                sum += lengths_[i * n + j] = std::sqrt(dy * dy + dx * dx);
            }
        double mean = sum / (0.5 * n * (n - 1.0));
        if (mean == 0.0) mean = 1.0;
        const int radii = matching_.radii, angles = matching_.angles;
        const double per_log = (radii - 1) / std::log(matching_.outer / matching_.inner);
        const double per_turn = angles / (2 * kPi), share = 1.0 / (n - 1);
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < i; ++j) {
                const double dy = warped_[2 * i] - warped_[2 * j], dx = warped_[2 * i + 1] - warped_[2 * j + 1];
                const double r = std::max(lengths_[i * n + j] / mean, matching_.inner);
                const double step = std::min(std::log(r / matching_.inner) * per_log, radii - 1.0);
                const int ring = std::min(static_cast<int>(step), std::max(0, radii - 2));
                const double out = step - ring;
                const double turn = std::atan2(dy, dx) * per_turn;
                vote(j, ring, out, turn, share);
                vote(i, ring, out, turn + 0.5 * angles, share);
            }
    }

    void vote(int point, int ring, double out, double turn, double share) {
        const int angles = matching_.angles;
        const double floor = std::floor(turn), on = turn - floor;
        int sector = static_cast<int>(floor) % angles;
        if (sector < 0) sector += angles;
        const int next = sector + 1 == angles ? 0 : sector + 1;
        double* bins = contexts_.data() + point * bins_ + ring * angles;
        bins[sector] += share * (1 - out) * (1 - on);
        bins[next] += share * (1 - out) * on;
        if (ring + 1 < matching_.radii) {
            bins[angles + sector] += share * out * (1 - on);
            bins[angles + next] += share * out * on;
        }
    }

    Bent summed(const Shape& a, const Shape& b, double bending) {
        const int n = a.count, m = b.count;
        double over_a = 0.0, over_b = 0.0, appearance = 0.0;
        for (int i = 0; i < n; ++i) {
            const double* row = costs_.data() + static_cast<std::size_t>(i) * m;
            over_a += *std::min_element(row, row + m);
            const double* tied = tied_.data() + static_cast<std::size_t>(i) * m;
            const auto partner = std::min_element(tied, tied + m) - tied;
            for (std::size_t p = 0; p < window_; ++p) {
                const double difference = a.patches[i * window_ + p] - b.patches[partner * window_ + p];
                appearance += difference * difference;
            }
        }
        for (int j = 0; j < m; ++j) {
            double least = costs_[j];
            for (int i = 1; i < n; ++i) least = std::min(least, costs_[static_cast<std::size_t>(i) * m + j]);
            over_b += least;
        }
        return {0.5 * (over_a / n + over_b / m), bending, appearance / n};
    }

    Matching matching_;
    std::size_t bins_, window_;
    Values warped_, turned_, costs_, tied_, row_price_, column_price_, shortest_, bumps_, system_, contexts_, lengths_;
    std::vector<int> column_of_, row_of_, from_, open_, rows_, columns_;
};

}  // namespace

void shape_context(const Matching& matching, const Shapes& left, const Shapes& right, const Index* first,
                   const Index* second, Index pairs, Weights weights, double* out) {
    Matcher matcher(matching, static_cast<std::size_t>(left.window));
    for (Index p = 0; p < pairs; ++p) {
        const Shape a = shape(left, first[p]), b = shape(right, second[p]);
        if (a.count == 0 || b.count == 0) {
            out[p] = a.count == b.count ? 0.0 : 1.0 + weights.appearance;
            continue;
        }
        out[p] = 0.0;
        for (const Bent& bent : {matcher.bend(a, b), matcher.bend(b, a)})
            out[p] += 0.5 * (bent.cost + weights.bending * bent.bending + weights.appearance * bent.appearance);
    }
}

}  // namespace kcrc
