"""One registry class for everything that goes by name: distances, kernels, coders, projections, methods."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from kcrc.errors import ParameterError, UnknownName

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class Registry(Generic[T]):
    """Names of one kind of part, each with the class or function that makes it.

    >>> shapes = Registry[object]("shape")
    >>> @shapes.register("dot")
    ... class Dot: ...
    >>> shapes.names()
    ('dot',)
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._makers: dict[str, Callable[..., T]] = {}

    def register(self, name: str) -> Callable[[F], F]:
        """Enter a class or function under ``name``; a name is taken once."""

        def enter(maker: F) -> F:
            if name in self._makers:
                raise ParameterError(f"The {self.kind} '{name}' is registered already.")
            self._makers[name] = maker
            return maker

        return enter

    def names(self) -> tuple[str, ...]:
        """All registered names, sorted."""
        return tuple(sorted(self._makers))

    def maker(self, name: str) -> Callable[..., T]:
        """The class or function behind ``name``."""
        try:
            return self._makers[name]
        except (KeyError, TypeError):
            raise UnknownName(self.kind, name, self._makers) from None

    def make(self, name: str, **options: Any) -> T:
        """Build the part called ``name``; an option it does not take is an error that lists those it does."""
        maker = self.maker(name)
        accepted = inspect.signature(maker).parameters
        takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in accepted.values())
        unknown = [] if takes_any else [o for o in options if o not in accepted]
        if unknown:
            takes = ", ".join(accepted) or "no options"
            raise ParameterError(f"The {self.kind} '{name}' has no option '{unknown[0]}'. It takes: {takes}.")
        return maker(**options)
