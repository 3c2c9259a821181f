"""What scikit-learn asks of a transformer, written out: its own base classes take more than a second to load.

``clone``, pipelines and grid searches ask for no more than this.
"""

from __future__ import annotations

import inspect
from typing import Any, Self

from kcrc.errors import ParameterError


class Estimator:
    """Parameters are the arguments of ``__init__``, each kept under its own name."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """The names of the parameters, sorted."""
        if cls.__init__ is object.__init__:
            return []
        return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; none of them has parameters of its own that ``deep`` could add."""
        return {name: getattr(self, name) for name in self._get_param_names()}

    def set_params(self, **given: Any) -> Self:
        """Give parameters other values; a name that is none of them changes nothing."""
        known = self._get_param_names()
        for name in given:
            if name not in known:
                takes = ", ".join(known) or "no parameters"
                raise ParameterError(f"{type(self).__name__} has no parameter '{name}'. It takes: {takes}.")
        for name, value in given.items():
            setattr(self, name, value)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fitting: Any) -> Any:
        """``fit``, then ``transform`` of the same."""
        fitted: Any = self
        return fitted.fit(X, y, **fitting).transform(X)

    def __repr__(self) -> str:
        usual = {} if type(self).__init__ is object.__init__ else inspect.signature(type(self).__init__).parameters
        given = self.get_params().items()
        told = [f"{name}={value!r}" for name, value in given if repr(value) != repr(usual[name].default)]
        return f"{type(self).__name__}({', '.join(told)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags, TransformerTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False), transformer_tags=TransformerTags())
