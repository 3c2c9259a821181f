// Lasso over a Gram matrix, for many targets: min ½ xᵀHx − bᵀx + λ‖x‖₁ (+ ½ energy, a constant).
//
// Per target: a working set that starts from the atoms most correlated with it and grows by those that violate the
// optimality conditions most; inside it coordinate descent finds the signs and a Newton step over the support (one
// Cholesky, up to the first coefficient that would change its sign) finds the values; the duality gap decides when
// to stop. The Gram matrix may be float or double; all arithmetic is double.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "dot.hpp"
#include "kernels.hpp"

namespace kcrc {
namespace {

// Chosen by time on Extended Yale B (1216 atoms, 504 random faces).
constexpr int TURNS = 30;        // Newton steps in a row
constexpr int SWEEPS = 2;        // passes of coordinate descent before them
constexpr double FALL = 0.3;     // from one λ to the next on the way down
constexpr double LEAST = 1e-11;  // λ over max |b|: below, rounding decides, and would be worked on without end

using std::ptrdiff_t;
using std::size_t;

template <class T>
void add_scaled(double* KCRC_RESTRICT out, double factor, const T* KCRC_RESTRICT row, size_t n) {
    for (size_t i = 0; i < n; ++i) out[i] += factor * static_cast<double>(row[i]);
}

double shrink(double h, double by) { return h > by ? h - by : (h < -by ? h + by : 0.0); }

// P − D, D the dual value of the best multiple of the residual that is feasible: every number comes from b, g = b − Hx
// and the energy. r2 = ‖y − Dx‖², yr = yᵀ(y − Dx).
struct Gap {
    double primal, gap, r2, yr, steepest;
};

Gap gap_of(double energy, double bx, double gx, double norm1, double steepest, double lam) {
    Gap out;
    out.r2 = std::max(0.0, energy - bx - gx);
    out.yr = energy - bx;
    out.steepest = steepest;
    out.primal = 0.5 * out.r2 + lam * norm1;
    const double limit = steepest > lam ? lam / steepest : 1.0;
    double alpha = limit;
    if (out.r2 > 0) alpha = std::max(-limit, std::min(limit, out.yr / out.r2));
    // At alpha = 1 the energy cancels: written so that it does so exactly.
    out.gap = lam * norm1 - gx + (1 - alpha) * out.yr - 0.5 * (1 - alpha * alpha) * out.r2;
    return out;
}

class Solver {
  public:
    explicit Solver(size_t K) : K(K), x(K), g(K), place(K, -1) {}

    // Returns the rounds taken; x and the last gap stay in the object.
    template <class T>
    int run(const T* H, const T* b, const unsigned char* real, double energy, double lam, double tol, int max_iter) {
        begin(H, b);
        double most = 0;
        for (size_t j = 0; j < K; ++j) most = std::max(most, std::fabs(static_cast<double>(b[j])));
        lam = std::max(lam, LEAST * most);
        last = full_gap(b, energy, lam);
        if (!std::isfinite(last.steepest)) return 0;  // overflowed: there is no way down from ∞
        // The way down from large λ, where few atoms take part, keeps the signs nearly right throughout.
        for (double now = FALL * last.steepest; now > lam; now *= FALL) advance(H, b, real, energy, now, 0.1);
        int rounds = 0, idle = 0;
        for (last = full_gap(b, energy, lam); last.gap > tol * last.primal && rounds < max_iter; ++rounds) {
            const double gap = last.gap;
            const size_t atoms = width;
            advance(H, b, real, energy, lam, tol);
            idle = width == atoms && last.gap > 0.5 * gap ? idle + 1 : 0;
            if (idle == 3) return rounds + 1;  // as far as rounding lets it
        }
        return rounds;
    }

    template <class T>
    void advance(const T* H, const T* b, const unsigned char* real, double energy, double lam, double tol) {
        last = full_gap(b, energy, lam);
        grow(H, b, real, lam);
        improve(lam, std::max(0.2 * last.gap, 0.1 * tol * last.primal), energy);
        commit(H);
        last = full_gap(b, energy, lam);
    }

    const size_t K;
    std::vector<double> x, g;
    Gap last{};

  private:
    size_t width = 0, stride = 0;
    std::vector<ptrdiff_t> place;       // where in the working set an atom is, −1: nowhere
    std::vector<size_t> work;           // the working set
    std::vector<double> A, wb, wx, wg;  // its Gram matrix, b, coefficients and g = b − Hx
    std::vector<double> factor, column, wanted, before;
    std::vector<char> member;
    std::vector<size_t> support, candidates;
    std::vector<std::pair<double, size_t>> changes;

    template <class T>
    void begin(const T* H, const T* b) {
        for (size_t j : work) place[j] = -1;
        work.clear();
        support.clear();
        width = 0;
        for (size_t j = 0; j < K; ++j) g[j] = static_cast<double>(b[j]);
        for (size_t j = 0; j < K; ++j)
            if (x[j] != 0) {
                add_scaled(g.data(), -x[j], H + j * K, K);
                enter(H, b, j);
            }
        before.assign(wx.begin(), wx.begin() + static_cast<ptrdiff_t>(width));
    }

    template <class T>
    void enter(const T* H, const T* b, size_t j) {
        if (width == stride) widen();
        const T* row = H + j * K;
        for (size_t i = 0; i < width; ++i) {
            const double h = static_cast<double>(row[work[i]]);
            A[width * stride + i] = h;
            A[i * stride + width] = h;
        }
        A[width * stride + width] = static_cast<double>(row[j]);
        wb[width] = static_cast<double>(b[j]);
        wx[width] = x[j];
        place[j] = static_cast<ptrdiff_t>(width);
        work.push_back(j);
        ++width;
    }

    void widen() {
        const size_t wider = stride ? 2 * stride : 72;  // no power of two: its rows would share cache sets
        std::vector<double> larger(wider * wider);
        for (size_t i = 0; i < width; ++i) std::copy_n(A.data() + i * stride, width, larger.data() + i * wider);
        A.swap(larger);
        stride = wider;
        wb.resize(wider);
        wx.resize(wider);
        wg.resize(wider);
        wanted.resize(wider);
        column.resize(wider);
        factor.assign(wider * wider, 0.0);
        support.clear();
    }

    template <class T>
    Gap full_gap(const T* b, double energy, double lam) const {
        double steepest = 0, bx = 0, gx = 0, norm1 = 0;
        for (size_t j = 0; j < K; ++j) steepest = std::max(steepest, std::fabs(g[j]));
        for (size_t i = 0; i < width; ++i) {
            const size_t j = work[i];
            bx += static_cast<double>(b[j]) * x[j];
            gx += g[j] * x[j];
            norm1 += std::fabs(x[j]);
        }
        return gap_of(energy, bx, gx, norm1, steepest, lam);
    }

    // Takes in the worst violators: at least 32, at most as many as there are.
    template <class T>
    void grow(const T* H, const T* b, const unsigned char* real, double lam) {
        candidates.clear();
        for (size_t j = 0; j < K; ++j)
            if (real[j] && place[j] < 0 && std::fabs(g[j]) > lam && H[j * K + j] > 0) candidates.push_back(j);
        const size_t take = std::min(candidates.size(), std::max<size_t>(32, width / 2));
        std::partial_sort(candidates.begin(), candidates.begin() + static_cast<ptrdiff_t>(take), candidates.end(),
                          [this](size_t i, size_t j) {
                              const double a = std::fabs(g[i]), c = std::fabs(g[j]);
                              return a > c || (a == c && i < j);
                          });
        for (size_t i = 0; i < take; ++i) enter(H, b, candidates[i]);
        before.assign(wx.begin(), wx.begin() + static_cast<ptrdiff_t>(width));
        for (size_t i = 0; i < width; ++i) wg[i] = g[work[i]];
    }

    // The working set's own problem, to a gap of a share of the whole one.
    void improve(double lam, double goal, double energy) {
        for (int cycle = 0; cycle < 200; ++cycle) {
            sweep(lam, SWEEPS);
            if (settled(lam, goal, energy)) return;
            if (newton(lam)) {
                // Where nothing is left to do but to round, a goal below the rounding must not go on for ever.
                if (settled(lam, goal, energy) || exact(lam)) return;
            } else {
                sweep(lam, 30);
            }
        }
    }

    bool settled(double lam, double goal, double energy) const {
        double steepest = 0;
        for (size_t i = 0; i < width; ++i) steepest = std::max(steepest, std::fabs(wg[i]));
        const double bx = dot(wb.data(), wx.data(), width), gx = dot(wg.data(), wx.data(), width);
        double norm1 = 0;
        for (size_t i = 0; i < width; ++i) norm1 += std::fabs(wx[i]);
        return !(gap_of(energy, bx, gx, norm1, steepest, lam).gap > goal);
    }

    bool exact(double lam) const {
        const double slack = 1e-10 * lam;
        for (size_t i = 0; i < width; ++i) {
            const double off = wx[i] != 0 ? std::fabs(wg[i] - (wx[i] > 0 ? lam : -lam)) : std::fabs(wg[i]) - lam;
            if (!(off <= slack)) return false;
        }
        return true;
    }

    void sweep(double lam, int times) {
        for (int t = 0; t < times; ++t) {
            double moved = 0;
            for (size_t i = 0; i < width; ++i) {
                const double h = A[i * stride + i], old = wx[i];
                if (old == 0 && std::fabs(wg[i]) <= lam) continue;
                const double now = shrink(wg[i] + h * old, lam) / h;
                if (now == old) continue;
                wx[i] = now;
                add_scaled(wg.data(), old - now, A.data() + i * stride, width);
                moved = std::max(moved, std::fabs(now - old) * h);
            }
            if (moved <= 1e-15 * lam) return;
        }
    }

    // Newton over the support with its signs; false where H has no Cholesky factor there.
    bool newton(double lam) {
        for (int turn = 0; turn < TURNS; ++turn) {
            if (!follow_support()) {
                refresh();
                return false;
            }
            const size_t s = support.size();
            for (size_t i = 0; i < s; ++i) wanted[i] = wb[support[i]] - (wx[support[i]] > 0 ? lam : -lam);
            for (size_t i = 0; i < s; ++i) {  // Uᵀ
                const double* row = factor.data() + i * stride;
                wanted[i] /= row[i];
                add_scaled(wanted.data() + i + 1, -wanted[i], row + i + 1, s - i - 1);
            }
            for (size_t i = s; i-- > 0;) {  // U
                const double* row = factor.data() + i * stride;
                wanted[i] = (wanted[i] - dot(row + i + 1, wanted.data() + i + 1, s - i - 1)) / row[i];
            }
            bool finite = true;
            for (size_t i = 0; i < s; ++i) finite &= std::isfinite(wanted[i] - wx[support[i]]);
            if (!finite) {
                refresh();
                return false;
            }
            if (!along(lam)) break;
        }
        refresh();
        // What updating has lost to rounding is made good by a factor from scratch.
        bool lost = false;
        for (size_t i : support) lost = lost || !(std::fabs(wg[i]) <= 2 * lam);
        if (lost) support.clear();
        return true;
    }

    // The best point of the objective from wx towards ``wanted``, past sign changes: its slope on the way is
    // −q(1 − t) plus a jump of 2λ|d| at every change of sign. False when all of the way was gone (t = 1).
    bool along(double lam) {
        const size_t s = support.size();
        double q = 0;
        changes.clear();
        for (size_t i = 0; i < s; ++i) {
            const double old = wx[support[i]], d = wanted[i] - old;
            q += d * (wg[support[i]] - (old > 0 ? lam : -lam));
            if ((wanted[i] > 0) != (old > 0) || wanted[i] == 0) changes.push_back({old / -d, i});
        }
        std::sort(changes.begin(), changes.end());
        double jumps = 0, t = 1;
        size_t stopped = s;
        for (const auto& [at, i] : changes) {
            if (jumps - q * (1 - at) >= 0) break;  // the slope reaches 0 before this change
            jumps += 2 * lam * std::fabs(wanted[i] - wx[support[i]]);
            if (jumps - q * (1 - at) >= 0) {
                t = at;
                stopped = i;
                break;
            }
        }
        if (stopped == s && jumps > 0) t = q > 0 ? std::max(0.0, 1 - jumps / q) : 0.0;
        for (size_t i = 0; i < s; ++i) {
            const size_t at = support[i];
            wg[at] -= t * (wg[at] - (wx[at] > 0 ? lam : -lam));  // d solves H d = g − λ sign: g falls in proportion
            wx[at] += t * (wanted[i] - wx[at]);
        }
        if (stopped < s) wx[support[stopped]] = 0;
        return t < 1;
    }

    // The upper Cholesky factor U (UᵀU = H over the support) follows the support: an atom that left costs a sweep of
    // rotations, one that came a substitution.
    bool follow_support() {
        for (size_t k = support.size(); k-- > 0;)
            if (wx[support[k]] == 0) leave(k);
        member.assign(width, 0);
        for (size_t i : support) member[i] = 1;
        for (size_t i = 0; i < width; ++i)
            if (wx[i] != 0 && !member[i] && !join(i) && !replace(i)) return false;
        return true;
    }

    // An atom that depends on the support, of which `join` has left U⁻ᵀ times its column: what it contributes, they may
    // contribute instead. Goes the way on which ‖x‖₁ does not grow until a coefficient is 0, so that its atom leaves,
    // and so on until the others are independent. False where H is not positive semidefinite.
    bool replace(size_t at) {
        do {
            const size_t s = support.size();
            const double *source = A.data() + at * stride, left = source[at] - dot(column.data(), column.data(), s);
            if (!(left > -1e-6 * source[at])) return false;
            for (size_t i = s; i-- > 0;) {
                const double* row = factor.data() + i * stride;
                column[i] = (column[i] - dot(row + i + 1, column.data() + i + 1, s - i - 1)) / row[i];
            }
            double slope = wx[at] > 0 ? 1 : -1;
            for (size_t i = 0; i < s; ++i) slope -= (wx[support[i]] > 0 ? column[i] : -column[i]);
            const double way = slope > 0 ? -1 : 1;  // of the atom; that of the i-th of the support is −way · column[i]
            double far = way * wx[at] < 0 ? std::fabs(wx[at]) : INFINITY;
            size_t first = s;
            for (size_t i = 0; i < s; ++i) {
                const double reach = wx[support[i]] / (way * column[i]);
                if (reach >= 0 && reach < far) {
                    far = reach;
                    first = i;
                }
            }
            if (!std::isfinite(far)) return false;
            for (size_t i = 0; i < s; ++i) wx[support[i]] -= way * far * column[i];
            wx[at] = first == s ? 0.0 : wx[at] + way * far;
            if (first < s) {
                wx[support[first]] = 0;
                leave(first);
            }
            refresh();
        } while (wx[at] != 0 && !join(at));
        return true;
    }

    bool join(size_t at) {
        const size_t s = support.size();
        const double* source = A.data() + at * stride;
        for (size_t i = 0; i < s; ++i) column[i] = source[support[i]];
        for (size_t i = 0; i < s; ++i) {
            const double* row = factor.data() + i * stride;
            column[i] /= row[i];
            add_scaled(column.data() + i + 1, -column[i], row + i + 1, s - i - 1);
        }
        const double pivot = source[at] - dot(column.data(), column.data(), s);
        if (!(pivot > 1e-11 * source[at])) return false;
        for (size_t i = 0; i < s; ++i) factor[i * stride + s] = column[i];
        factor[s * stride + s] = std::sqrt(pivot);
        support.push_back(at);
        return true;
    }

    void leave(size_t k) {
        const size_t s = support.size();
        support.erase(support.begin() + static_cast<ptrdiff_t>(k));
        for (size_t i = 0; i < s; ++i) {
            double* row = factor.data() + i * stride;
            const size_t from = std::max(k + 1, i);
            std::copy(row + from, row + s, row + from - 1);
        }
        for (size_t j = k; j + 1 < s; ++j) {
            double *KCRC_RESTRICT upper = factor.data() + j * stride, *KCRC_RESTRICT lower = upper + stride;
            const double length = std::hypot(upper[j], lower[j]), c = upper[j] / length, d = lower[j] / length;
            upper[j] = length;
            for (size_t i = j + 1; i + 1 < s; ++i) {
                const double a = upper[i], b = lower[i];
                upper[i] = c * a + d * b;
                lower[i] = c * b - d * a;
            }
        }
    }

    void refresh() {
        std::copy_n(wb.data(), width, wg.data());
        for (size_t i = 0; i < width; ++i)
            if (wx[i] != 0) add_scaled(wg.data(), -wx[i], A.data() + i * stride, width);
    }

    template <class T>
    void commit(const T* H) {
        for (size_t i = 0; i < width; ++i) {
            const size_t j = work[i];
            if (wx[i] != before[i]) add_scaled(g.data(), before[i] - wx[i], H + j * K, K);
            x[j] = wx[i];
        }
    }
};

}  // namespace

template <class T>
void lasso(const Targets<T>& targets, double tol, int max_iter, double* x, double* facts, Index* rounds) {
    const auto K = static_cast<size_t>(targets.K);
    Solver solver(K);
    for (Index i = 0; i < targets.B; ++i, x += K, facts += 5) {
        const Index d = targets.which[i];
        std::copy_n(x, K, solver.x.begin());
        rounds[i] = solver.run(targets.gram + d * K * K, targets.b + i * K, targets.real + d * K, targets.energy[i],
                               targets.lam[i], tol, max_iter);
        std::copy_n(solver.x.begin(), K, x);
        const Gap& last = solver.last;
        const double row[5] = {last.primal, last.gap, last.r2, last.yr, last.steepest};
        std::copy_n(row, 5, facts);
    }
}

template void lasso(const Targets<float>&, double, int, double*, double*, Index*);
template void lasso(const Targets<double>&, double, int, double*, double*, Index*);

}  // namespace kcrc
