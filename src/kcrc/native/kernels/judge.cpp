// Leave-one-out trials: one local problem, many settings. For every trial, dictionary size and penalty the margin of
// the true class under both decisions, log(best other residual) − log(true residual): above 0 is a right answer.
//
// Trials come as matrices G (B, K, K) of the trial's neighbours, nearest first, so the first K' of them are the local
// dictionary of size K': kernel values, or for an exponential kernel squared distances, or dot products from which the
// squared distances follow. A Cholesky factor for each penalty costs less than the one eigendecomposition that
// would serve all of them: at K = 200 about 1/40 of it. One Lanczos sequence serves all penalties of an RBF problem for
// the price of about 1.3 factors (residual 1e-4, K = 25 to 400), but the walk asks 1.4 to 2 penalties a problem, and
// factors are 3 to 10 % of a fit: it would gain 2 % at most, and a walk that asks whole ladders of penalties takes
// longer on five sets of seven.
#include <cmath>
#include <limits>
#include <vector>

#include "exp.hpp"
#include "kernels.hpp"
#include "problem.hpp"

namespace kcrc {
namespace {

constexpr float LOST = -std::numeric_limits<float>::infinity();
constexpr double FLOOR = 1e-12;  // of ‖y‖²: less left over is nothing, and has a logarithm; as in judging.py
constexpr float UNSOLVED = std::numeric_limits<float>::quiet_NaN();

template <class T>
class Judge {
  public:
    Judge(int largest, const Grid& grid)
        : mus_(grid.mus), n_mus_(grid.n_mus), gram_form_(grid.gram_form), normalize_(grid.normalize),
          holds_(grid.holds), gamma_(narrowed<T>(grid.gamma)), problem_(Panels<T>::room(largest)),
          factor_(Panels<T>::room(largest)), b_(rounded_up(largest + 1, MR<T>)), x_(b_.size() + MR<T>),
          inverse_(b_.size()), scale_(b_.size()), squares_(b_.size()), order_(largest), start_(largest + 1),
          group_(largest) {}

    // The first ``K`` atoms of the trial as the dictionary; margins go to out[mu][decision], ``step`` apart.
    // ``squares`` are the atoms' squared lengths, where G holds products.
    void run(const T* G, int stride, const T* k, const T* squares, double self, const std::int32_t* labels,
             std::int32_t truth, int K, float* out, std::size_t step) {
        int m = 0;
        n_groups_ = 0;
        own_ = -1;
        for (int i = 0; i < K; ++i) {  // real atoms, grouped by class
            if (labels[i] < 0) continue;
            int g = 0;
            while (g < n_groups_ && seen_[g] != labels[i]) ++g;
            if (g == n_groups_) {
                seen_.resize(std::max<std::size_t>(seen_.size(), g + 1));
                seen_[g] = labels[i];
                if (labels[i] == truth) own_ = g;
                ++n_groups_;
            }
            group_[i] = g;
            ++m;
        }
        if (n_groups_ <= 1 || own_ < 0) {  // unanimous, or the true class is not there: no penalty changes it
            const float verdict = own_ >= 0 && n_groups_ == 1 ? -LOST : LOST;
            for (int i = 0; i < 2 * n_mus_; ++i) out[i * step] = verdict;
            return;
        }
        int at = 0;
        for (int g = 0; g < n_groups_; ++g) {
            start_[g] = at;
            for (int i = 0; i < K; ++i)
                if (labels[i] >= 0 && group_[i] == g) order_[at++] = i;
        }
        start_[n_groups_] = m;
        if (holds_ == Holds::products)
            for (int i = 0; i < m; ++i) squares_[i] = squares[order_[i]];
        const double energy = pose(G, stride, k, self, m);
        for (int u = 0; u < n_mus_; ++u) {
            const bool solved = solve(T(mus_[u]), m);
            float* here = out + static_cast<std::size_t>(2 * u) * step;
            if (solved) weigh(energy, here, step);
            else here[0] = here[step] = UNSOLVED;
        }
    }

  private:
    const double* mus_;
    int n_mus_;
    bool gram_form_, normalize_;
    Holds holds_;
    T gamma_;
    std::vector<T> problem_, factor_, b_, x_, inverse_, scale_, squares_;
    std::vector<int> order_, start_, group_;
    std::vector<std::int32_t> seen_;
    int n_groups_ = 0, own_ = -1;

    // Row i of a matrix in panels; entry (i, j) lies at row[j · MR].
    static T* row_of(const Panels<T>& A, int i) { return A.panel(i / MR<T>) + i % MR<T>; }

    // H and b of the grouped atoms, with unit columns where they are normalised; returns ‖y‖².
    double pose(const T* G, int stride, const T* k, double self, int m) {
        const Panels<T> H(problem_.data(), m);
        double energy = energy_of(self);
        for (int j = 0; j < m; ++j) b_[j] = holds_ == Holds::kernel ? k[order_[j]] : std::exp(-gamma_ * k[order_[j]]);
        if (!gram_form_) {
            fill(H, G, stride, m, false);
        } else {
            const Panels<T> whole(factor_.data(), m);
            fill(whole, G, stride, m, true);
            energy = gram_problem<T>(whole, m, H, b_.data(), x_.data());
        }
        if (normalize_) unit_columns<T>(H, m, b_.data(), scale_.data());
        return energy;
    }

    void fill(const Panels<T>& out, const T* G, int stride, int m, bool whole) {
        std::fill(out.data, out.data + Panels<T>::room(m), T(0));
        for (int i = 0; i < m; ++i) {
            const T* from = G + static_cast<std::size_t>(order_[i]) * stride;
            T* row = row_of(out, i);
            const int stop = whole ? m : i + 1;
            for (int j = 0; j < stop; ++j) row[static_cast<std::size_t>(j) * MR<T>] = from[order_[j]];
        }
        if (holds_ != Holds::kernel) exponentiate(out, m, whole);
    }

    // exp(−γ·squared distance) in place; an atom is at 0 from itself, unless distances that are given say otherwise.
    void exponentiate(const Panels<T>& out, int m, bool whole) {
        constexpr int W = lanes<T>;
        const Vec<T> minus = splat<T>(-gamma_), zero{};
        for (int p = 0; p < out.count(); ++p) {
            const int stop = whole ? m : std::min(m, (p + 1) * MR<T>);
            for (int j = 0; j < stop; ++j) {
                T* column = out.panel(p) + static_cast<std::size_t>(j) * MR<T>;
                for (int v = 0; v < MR<T> && p * MR<T> + v < m; v += W) {
                    Vec<T> squared = load<T>(column + v);
                    if (holds_ == Holds::products)
                        squared =
                            load<T>(squares_.data() + p * MR<T> + v) + splat<T>(squares_[j]) - (squared + squared);
                    store<T>(column + v, exp_of_negative<T>(minus * where_above<T>(squared, zero, squared, zero)));
                }
            }
        }
        if (holds_ == Holds::products)
            for (int j = 0; j < m; ++j) out.at(j, j) = T(1);
    }

    bool solve(T mu, int m) {
        std::copy(problem_.begin(), problem_.begin() + Panels<T>::room(m), factor_.begin());
        const Panels<T> L(factor_.data(), m);
        for (int j = 0; j < m; ++j) {
            L.at(j, j) += mu;
            L.at(m, j) = b_[j];
        }
        std::fill(inverse_.begin(), inverse_.end(), T(0));
        if (!trusted(cholesky<T>(L, inverse_.data()), mu)) return false;
        for (int j = 0; j < L.columns; ++j) x_[j] = j < m ? L.at(m, j) : T(0);
        solve_transposed<T>(L, inverse_.data(), x_.data());
        return true;
    }

    void weigh(double energy, float* out, std::size_t step) {
        const Panels<T> H(problem_.data(), start_[n_groups_]);
        double ratio_best = INFINITY, plain_best = INFINITY, ratio_own = INFINITY, plain_own = INFINITY;
        bool coded = false;
        for (int g = 0; g < n_groups_; ++g) {
            double explained = 0, length = 0;
            for (int i = start_[g]; i < start_[g + 1]; ++i) {
                const T* row = row_of(H, i);
                double mutual = 0;  // off-diagonal entries count twice
                for (int j = start_[g]; j < i; ++j)
                    mutual += double(row[static_cast<std::size_t>(j) * MR<T>]) * double(x_[j]);
                const double own = row[static_cast<std::size_t>(i) * MR<T>];
                explained += double(x_[i]) * (2.0 * double(b_[i]) - 2.0 * mutual - own * double(x_[i]));
                length += double(x_[i]) * double(x_[i]);
            }
            if (!(length > 0)) continue;
            coded = true;
            const double least = FLOOR * std::max(energy, std::numeric_limits<double>::min());
            const double plain = 0.5 * std::log(std::max(energy - explained, least));
            const double ratio = plain - 0.5 * std::log(length);
            if (g == own_) {
                ratio_own = ratio;
                plain_own = plain;
            } else {
                ratio_best = std::min(ratio_best, ratio);
                plain_best = std::min(plain_best, plain);
            }
        }
        if (!coded) {  // nothing resembles the query: the nearest atom answers, which is the first, of the first class
            out[0] = out[step] = own_ == 0 ? -LOST : LOST;
            return;
        }
        out[0] = margin(ratio_best, ratio_own);
        out[step] = margin(plain_best, plain_own);
    }
    static float margin(double other, double own) {
        if (!std::isfinite(own)) return LOST;
        return std::isfinite(other) ? static_cast<float>(other - own) : -LOST;
    }
};

}  // namespace

template <class T>
void judge(const Trials<T>& trials, const Grid& grid, float* out) {
    const Index B = trials.B, K = trials.K;
    Judge<T> one(trials.K, grid);
    for (Index q = 0; q < B; ++q)
        for (Index s = 0; s < grid.n_sizes; ++s)
            one.run(trials.G + q * K * K, trials.K, trials.k + q * K, trials.squares ? trials.squares + q * K : nullptr,
                    trials.self[q], trials.labels + q * K, trials.truth[q], std::min<int>(grid.sizes[s], trials.K),
                    out + s * grid.n_mus * 2 * B + q, static_cast<std::size_t>(B));
}

template void judge(const Trials<float>&, const Grid&, float*);
template void judge(const Trials<double>&, const Grid&, float*);

}  // namespace kcrc
