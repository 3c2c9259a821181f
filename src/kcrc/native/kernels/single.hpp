// One query from its vector to its evidence, by a model that was looked at once.
#pragma once
#include "kernels.hpp"

namespace kcrc {

struct SingleModel {
    Examples examples;
    Chunk chunk;       // of one query, without what each query has of its own
    const Index* ids;  // (n,) what callers know the examples by
    bool root;         // distances are ‖y − a‖, else ‖y − a‖²
    bool by_distance;  // the query's kernel values follow from its distances
    // Scan coordinates, where codes are stored: (y − centre)/scale, or that along the columns of basis (width, depth −
    // 1) and the length of the rest. Bounds are times (‖coordinates‖ + reach): see neighbours/scan.py.
    const double *centre, *basis;
    int depth;
    double scale, reach, rounding, slack, farthest;
};

struct SingleAnswer {
    Index* rows;        // (K,) ids
    double* distances;  // (K,)
    Index* labels;      // (K,)
    Answers answers;
};

// ``query`` (width) is double where ``wide``. False where nothing can be said here: its coordinates are too far away to
// be scanned, or its problem has no Cholesky factor.
bool answer_single(const SingleModel& model, const void* query, bool wide, double self, const SingleAnswer& out);

}  // namespace kcrc
