// What every source file of the compiled module offers to module.cpp.
#pragma once
#include <pybind11/pybind11.h>

void bind_omp(pybind11::module_&);
void bind_shape_context(pybind11::module_&);
void bind_local(pybind11::module_& m);
void bind_judge(pybind11::module_& m);
void bind_left_out(pybind11::module_& m);
void bind_sparse(pybind11::module_& m);  // sparse.cpp
void bind_distances(pybind11::module_& m);
void bind_tangent(pybind11::module_& m);
void bind_search(pybind11::module_& m);
void bind_gram(pybind11::module_& m);
