// The local stage of one query after another: local kernel matrix, solve, contributions, class residuals.
//
//   H = G, b = k, t = k(y,y)              rkhs form
//   H = G G, b = G k, t = ‖k‖²            gram form (Algorithm 1 with the identity for Ψ)
//   H_ij, b_j times s_i s_j, s_j          s_j = 1/√H_jj where columns are normalised
//   x = (H + μI)⁻¹ b,   c_j = x_j (2 b_j − Σ_{l of j's class} H_jl x_l)
//   ‖y − D_i x_i‖² = t − Σ_{j of class i} c_j
//
// Up to SIDE_BY_SIDE neighbours, several queries are solved in the lanes of one vector, and one that is left over in
// panels with the same sums; beyond, one by one in panels. The number of neighbours alone decides how a sum is taken,
// so an answer does not depend on the batch.
#pragma once
#include <limits>

#include "onelane.hpp"
#include "problem.hpp"
#include "sidebyside.hpp"
#include "sources.hpp"

namespace kcrc {

constexpr int SIDE_BY_SIDE = 96;

template <class T>
class Stage {
  public:
    Stage(const Source<T>& source, const Settings& settings, const Answers& answers, const std::int64_t* rows,
          const std::int32_t* labels, int K, Scratch<T>& scratch)
        : source_(source), settings_(settings), answers_(answers), rows_(rows), labels_(labels), K_(K),
          side_(rounded_up(K + 1, MR<T>)), scratch_(scratch), present_(settings.n_classes, 0),
          squared_(settings.n_classes), lengths_(settings.n_classes) {}

    // Queries ``which`` (count) with their kernel values k (by query and place) and k(y, y).
    void run(const std::int64_t* which, std::int64_t count, const T* k, const double* self) {
        if (K_ > SIDE_BY_SIDE) {
            for (std::int64_t i = 0; i < count; ++i) alone(which[i], k + which[i] * K_, self[which[i]]);
            return;
        }
        for (std::int64_t i = 0; i < count; i += lanes<T>) {
            if (count - i == 1) left_over(which[i], k + which[i] * K_, self[which[i]]);
            else together(which + i, static_cast<int>(std::min<std::int64_t>(lanes<T>, count - i)), k, self);
        }
    }

  private:
    const Source<T>& source_;
    const Settings& settings_;
    const Answers& answers_;
    const std::int64_t* rows_;
    const std::int32_t* labels_;
    int K_, side_;
    Scratch<T>& scratch_;
    std::vector<int> present_;
    std::vector<double> squared_, lengths_;

    // Places of the real neighbours in ascending order of their rows (bytes of the row number, lowest first): memory
    // is then read forwards. Returns the list that holds them, one of the two given.
    const std::int32_t* by_row(const std::int64_t* rows, int& m, std::int32_t* from, std::int32_t* to) {
        std::int64_t largest = 0;
        m = 0;
        for (int i = 0; i < K_; ++i) {
            if (rows[i] < 0) continue;
            largest = std::max(largest, rows[i]);
            from[m++] = i;
        }
        for (int shift = 0; largest >> shift; shift += 8) {
            int start[257] = {};
            for (int i = 0; i < m; ++i) ++start[((rows[from[i]] >> shift) & 255) + 1];
            for (int digit = 0; digit < 256; ++digit) start[digit + 1] += start[digit];
            for (int i = 0; i < m; ++i) to[start[(rows[from[i]] >> shift) & 255]++] = from[i];
            std::swap(from, to);
        }
        return from;
    }

    // Places of the real neighbours, grouped by class, each class in ascending order of rows; returns how many.
    int grouped(std::int64_t query, std::int32_t* place, std::int64_t* row, std::int32_t* label) {
        const std::int64_t* rows = rows_ + query * K_;
        int m = 0, n_present = 0;
        std::int32_t* order = label + side_;  // classes by first appearance
        const std::int32_t* sorted = by_row(rows, m, order + side_, order + 2 * side_);
        const int count = m;
        m = 0;
        for (int s = 0; s < count; ++s) {
            const std::int32_t c = labels_[rows[sorted[s]]];
            if (present_[c]++ == 0) order[n_present++] = c;
        }
        for (int c = 0; c < n_present; ++c) {
            const int size = present_[order[c]];
            present_[order[c]] = m;
            m += size;
        }
        for (int s = 0; s < count; ++s) {
            const int i = sorted[s];
            const std::int32_t c = labels_[rows[i]];
            const int at = present_[c]++;
            place[at] = i;
            row[at] = rows[i];
            label[at] = c;
        }
        for (int c = 0; c < n_present; ++c) present_[order[c]] = 0;
        return m;
    }

    // Panels of H (lower), b, and t, before any scaling. ``G`` is room for the gram form.
    double problem(const std::int64_t* row, int m, const Panels<T>& H, T* b, double self) {
        if (!settings_.gram_form) {
            source_.gram(row, m, H, false, scratch_);
            return energy_of(self);
        }
        const Panels<T> G(scratch_.factor.get(Panels<T>::room(m)), m);
        source_.gram(row, m, G, true, scratch_);
        return gram_problem<T>(G, m, H, b, scratch_.squares.get(side_));
    }

    // One query in panels.
    void alone(std::int64_t query, const T* k, double self) {
        T* vectors = scratch_.vectors.get(static_cast<std::size_t>(side_) * 5);
        T *b = vectors, *x = b + side_, *scale = x + side_, *inverse = scale + side_, *own = inverse + side_;
        std::int64_t* row = scratch_.rows.get(side_);
        std::int32_t* place = scratch_.numbers.get(static_cast<std::size_t>(side_) * 5);
        std::int32_t* label = place + side_;
        const int m = grouped(query, place, row, label);
        for (int j = 0; j < m; ++j) b[j] = k[place[j]];
        const std::size_t room = Panels<T>::room(m);
        const Panels<T> H(scratch_.matrix.get(room + triangle(m)), m);
        T* blocks = H.data + room;
        const double energy = problem(row, m, H, b, self);
        if (settings_.normalize) unit_columns<T>(H, m, b, scale);
        save_class_blocks(H, label, m, blocks);
        for (int j = 0; j < m; ++j) {
            H.at(j, j) += T(settings_.mu);
            H.at(m, j) = b[j];
        }
        std::fill(inverse + m, inverse + H.columns, T(0));
        const T smallest = cholesky<T>(H, inverse);
        if (!trusted(smallest, settings_.mu)) {
            answers_.flags[query] = NOT_POSITIVE;
            return;
        }
        for (int j = 0; j < H.columns; ++j) x[j] = j < m ? H.at(m, j) : T(0);
        solve_transposed<T>(H, inverse, x);
        within_classes(blocks, label, m, x, own);
        finish(query, energy, place, label, m, x, b, own, 1);
    }

    static void save_class_blocks(const Panels<T>& H, const std::int32_t* label, int m, T* blocks) {
        for (int j = 0, stop = 0; j < m; ++j) {
            if (j == stop)
                while (stop < m && label[stop] == label[j]) ++stop;
            for (int i = j; i < stop;) {
                const T* column = H.panel(i / MR<T>) + static_cast<std::size_t>(j) * MR<T> - i / MR<T> * MR<T>;
                const int end = std::min(stop, (i / MR<T> + 1) * MR<T>);
                for (; i < end; ++i) *blocks++ = column[i];
            }
        }
    }

    // own_j = Σ over l of the same class H_jl x_l, from the lower halves of the class blocks
    static void within_classes(const T* blocks, const std::int32_t* label, int m, const T* x, T* own) {
        for (int j = 0; j < m; ++j) own[j] = T(0);
        for (int j = 0, stop = 0; j < m; ++j) {
            if (j == stop)
                while (stop < m && label[stop] == label[j]) ++stop;
            const Vec<T> mine = splat<T>(x[j]);
            Vec<T> sum{};
            T rest = *blocks++ * x[j];
            int i = j + 1;
            for (; i + lanes<T> <= stop; i += lanes<T>, blocks += lanes<T>) {
                const Vec<T> entry = load<T>(blocks);
                sum += entry * load<T>(x + i);
                store<T>(own + i, load<T>(own + i) + entry * mine);
            }
            for (; i < stop; ++i, ++blocks) {
                rest += *blocks * x[i];
                own[i] += *blocks * x[j];
            }
            own[j] += sum_of<T>(sum) + rest;
        }
    }

    // Several queries, one a lane; free lanes get the identity.
    void together(const std::int64_t* which, int count, const T* k, const double* self) {
        constexpr int W = lanes<T>;
        const std::size_t entries = triangle(K_);
        T* H = scratch_.matrix.get(entries * W * 2 + Panels<T>::room(K_));
        T* L = H + entries * W;
        const Panels<T> one(L + entries * W, K_);
        T* vectors = scratch_.vectors.get(static_cast<std::size_t>(K_) * W * 6 + W);
        T *b = vectors, *x = b + K_ * W, *scale = x + K_ * W, *inverse = scale + K_ * W, *own = inverse + K_ * W;
        T *number = own + K_ * W, *smallest = number + K_ * W;
        double energy[W];
        int real[W];
        bool whole = true;
        std::int32_t* place = scratch_.numbers.get(static_cast<std::size_t>(K_) * 3 * W);
        std::int32_t *label = place + K_ * W, *lane_rows = label + K_ * W;
        for (int q = 0; q < W; ++q) {
            const std::int64_t query = which[q < count ? q : 0];
            int m = 0;
            for (int i = 0; i < K_; ++i) {
                const std::int64_t row = rows_[query * K_ + i];
                if (row < 0) continue;
                place[q * K_ + m] = i;
                label[q * K_ + m] = labels_[row];
                lane_rows[q * K_ + m] = static_cast<std::int32_t>(row);
                b[m * W + q] = k[query * K_ + i];
                number[m * W + q] = static_cast<T>(labels_[row]);
                ++m;
            }
            for (int i = m; i < K_; ++i) {
                b[i * W + q] = T(0);
                number[i * W + q] = T(-1);
            }
            whole = whole && m == K_;
            real[q] = m;
            energy[q] = energy_of(self[query]);
        }
        if (settings_.gram_form || !whole || !source_.gram_side_by_side(lane_rows, K_, H)) {
            for (int q = 0; q < count; ++q)
                energy[q] = interleave(one, lane_rows + q * K_, real[q], q, b, energy[q], H);
            for (int q = count; q < W; ++q)
                for (std::size_t e = 0; e < entries; ++e) H[e * W + q] = T(0);
        }
        if (settings_.normalize) {
            const Vec<T> least = splat<T>(std::numeric_limits<T>::min()), one_ = splat<T>(T(1));
            bool unit = true;
            for (int i = 0; i < K_; ++i) {
                const Vec<T> squared = load<T>(H + (triangle(i) + i) * W);
                store<T>(scale + i * W, where_above<T>(squared, least, one_ / square_root<T>(squared), Vec<T>{}));
                for (int q = 0; q < W; ++q) unit = unit && scale[i * W + q] == T(1);
            }
            for (int i = 0; i < (unit ? 0 : K_); ++i) {
                const Vec<T> mine = load<T>(scale + i * W);
                store<T>(b + i * W, load<T>(b + i * W) * mine);
                for (int j = 0; j <= i; ++j) {
                    T* at = H + (triangle(i) + j) * W;
                    store<T>(at, load<T>(at) * (mine * load<T>(scale + j * W)));
                }
            }
        }
        std::copy(H, H + entries * W, L);
        for (int i = 0; i < K_; ++i)
            for (int q = 0; q < W; ++q) {
                T& diagonal = L[(triangle(i) + i) * W + q];
                diagonal = i < real[q] ? diagonal + T(settings_.mu) : T(1);
            }
        std::copy(b, b + K_ * W, x);
        side_by_side_cholesky<T>(L, K_, inverse, smallest);
        side_by_side_solve<T>(L, K_, inverse, x);
        side_by_side_own_class<T>(H, K_, x, number, own);
        for (int q = 0; q < count; ++q) {
            if (!trusted(smallest[q], settings_.mu)) {
                answers_.flags[which[q]] = NOT_POSITIVE;
                continue;
            }
            finish(which[q], energy[q], place + q * K_, label + q * K_, real[q], x + q, b + q, own + q, W);
        }
    }

    // One query as ``together`` solves it.
    void left_over(std::int64_t query, const T* k, double self) {
        T* vectors = scratch_.vectors.get(static_cast<std::size_t>(side_) * 5);
        T *b = vectors, *x = b + side_, *scale = x + side_, *inverse = scale + side_, *own = inverse + side_;
        std::int32_t* place = scratch_.numbers.get(static_cast<std::size_t>(side_) * 5);
        std::int32_t *label = place + side_, *lane_rows = label + side_, *member = lane_rows + side_;
        std::int64_t* row = scratch_.rows.get(side_);
        int m = 0;
        for (int i = 0; i < K_; ++i) {
            row[m] = rows_[query * K_ + i];
            if (row[m] < 0) continue;
            place[m] = i;
            label[m] = labels_[row[m]];
            lane_rows[m] = static_cast<std::int32_t>(row[m]);
            b[m++] = k[i];
        }
        class_by_class(label, m, member, member + side_);
        const std::size_t room = Panels<T>::room(m);
        const Panels<T> H(scratch_.matrix.get(room + triangle(m)), m);
        T* kept = H.data + room;
        double energy = energy_of(self);
        if (settings_.gram_form || m < K_ || !source_.gram_one_lane(lane_rows, m, H))
            energy = problem(row, m, H, b, energy);
        if (settings_.normalize) unit_columns<T>(H, m, b, scale);
        keep_class_entries<T>(H, member, label, m, kept);
        for (int j = 0; j < m; ++j) {
            H.at(j, j) += T(settings_.mu);
            x[j] = b[j];
        }
        if (!trusted(cholesky<T>(H, inverse), settings_.mu)) {
            answers_.flags[query] = NOT_POSITIVE;
            return;
        }
        one_lane_solve<T>(H, inverse, x);
        one_lane_own_class<T>(kept, member, label, m, x, own);
        finish(query, energy, place, label, m, x, b, own, 1);
    }

    // The atoms 0 … m−1 class by class, each class in ascending order; ``order`` has room for m classes.
    void class_by_class(const std::int32_t* label, int m, std::int32_t* member, std::int32_t* order) {
        int n_present = 0, first = 0;
        for (int j = 0; j < m; ++j)
            if (present_[label[j]]++ == 0) order[n_present++] = label[j];
        for (int c = 0; c < n_present; ++c) first += std::exchange(present_[order[c]], first);
        for (int j = 0; j < m; ++j) member[present_[label[j]]++] = j;
        for (int c = 0; c < n_present; ++c) present_[order[c]] = 0;
    }

    // Lane q of H, and of b in the gram form, through panels; returns t.
    double interleave(const Panels<T>& room, const std::int32_t* lane_rows, int m, int q, T* b, double self, T* H) {
        constexpr int W = lanes<T>;
        const Panels<T> one(room.data, m);
        std::int64_t row[SIDE_BY_SIDE];
        T own[SIDE_BY_SIDE];
        for (int i = 0; i < m; ++i) {
            row[i] = lane_rows[i];
            own[i] = b[i * W + q];
        }
        const double energy = problem(row, m, one, own, self);
        for (int i = 0; i < K_; ++i)
            for (int j = 0; j <= i; ++j) H[(triangle(i) + j) * W + q] = i < m ? one.at(i, j) : T(0);
        for (int i = 0; i < m; ++i) b[i * W + q] = own[i];
        return energy;
    }

    // Contributions, class residuals, and everything to its place; x, b, own are ``step`` apart.
    void finish(std::int64_t query, double energy, const std::int32_t* place, const std::int32_t* label, int m,
                const T* x, const T* b, const T* own, int step) {
        double total = energy;
        for (int j = 0; j < m; ++j) total += double(x[j * step]) * double(b[j * step] - own[j * step]);
        if (!std::isfinite(total)) {  // a kernel that overflows: the staged way says so
            answers_.flags[query] = NOT_POSITIVE;
            return;
        }
        double* coefficients = answers_.coefficients + query * K_;
        double* contributions = answers_.contributions + query * K_;
        std::fill(coefficients, coefficients + K_, 0.0);
        std::fill(contributions, contributions + K_, 0.0);
        for (int j = 0; j < m; ++j) {
            const double value = x[j * step];
            const double part = value * (2.0 * double(b[j * step]) - double(own[j * step]));
            coefficients[place[j]] = value;
            contributions[place[j]] = part;
            const std::int32_t c = label[j];
            if (!present_[c]) {
                present_[c] = 1;
                squared_[c] = lengths_[c] = 0.0;
            }
            squared_[c] += part;
            lengths_[c] += value * value;
        }
        double* residuals = answers_.residuals + query * settings_.n_classes;
        std::fill(residuals, residuals + settings_.n_classes, std::numeric_limits<double>::infinity());
        std::int64_t winner = -1;
        for (int j = 0; j < m; ++j) {
            const std::int32_t c = label[j];
            if (!present_[c]) continue;
            present_[c] = 0;
            if (!(lengths_[c] > 0)) continue;
            const double residual = std::sqrt(std::max(energy - squared_[c], 0.0));
            residuals[c] = settings_.ratio ? residual / std::sqrt(lengths_[c]) : residual;
            if (winner < 0 || residuals[c] < residuals[winner] || (residuals[c] == residuals[winner] && c < winner))
                winner = c;
        }
        answers_.energy[query] = energy;
        answers_.flags[query] = winner < 0 ? NEAREST : CODED;
        if (winner < 0) {  // nothing resembles the query: the class of its first neighbour, judged by ‖y‖ alone
            const std::int64_t* first = rows_ + query * K_;
            while (*first < 0) ++first;  // there is one: a query of none is not coded
            winner = labels_[*first];
            residuals[winner] = std::sqrt(energy);
        }
        answers_.winner[query] = winner;
    }
};

}  // namespace kcrc
