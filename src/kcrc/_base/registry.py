"""One registry class for everything that goes by name: distances, kernels, coders, projections, methods."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from kcrc.errors import KCRCError, ParameterError, UnknownName

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class Registry(Generic[T]):
    """Names of one kind of part, each with the class or function that makes it.

    Parameters
    ----------
    kind : str
        What its parts are called in errors.
    homes : mapping of str to str, or None, default=None
        Name -> module of the library's own parts: a module is imported when a name of it is asked for, so that a part
        costs nothing until it is used.

    Examples
    --------
    >>> from kcrc._base.registry import Registry
    >>> shapes = Registry[object]("shape")
    >>> @shapes.register("dot")
    ... class Dot: ...
    >>> shapes.names()
    ('dot',)

    The examples of the methods go on from here.
    """

    def __init__(self, kind: str, homes: Mapping[str, str] | None = None) -> None:
        self.kind = kind
        self.homes: Mapping[str, str] = {} if homes is None else homes
        self._makers: dict[str, Callable[..., T]] = {}

    def register(self, name: str) -> Callable[[F], F]:
        """Enter a class or function under ``name``; a name is taken once.

        Parameters
        ----------
        name : str
            The name.

        Returns
        -------
        callable
            A decorator, which gives back what it is put on.

        Raises
        ------
        ParameterError
            Where the name is taken.

        Examples
        --------
        >>> @shapes.register("line")
        ... def line(length=1.0):
        ...     return ("line", length)
        >>> shapes.names()
        ('dot', 'line')
        """

        def enter(maker: F) -> F:
            own = self.homes.get(name, maker.__module__) == maker.__module__
            if name in self._makers or not own:
                raise ParameterError(f"The {self.kind} '{name}' is registered already.")
            self._makers[name] = maker
            return maker

        return enter

    def names(self) -> tuple[str, ...]:
        """All registered names, sorted.

        Returns
        -------
        tuple of str
            The library's own, and those that were registered.

        Examples
        --------
        >>> shapes.names()
        ('dot',)
        """
        return tuple(sorted(self._makers.keys() | self.homes.keys()))

    def maker(self, name: str) -> Callable[..., T]:
        """The class or function behind ``name``.

        Parameters
        ----------
        name : str
            A name of ``names()``.

        Returns
        -------
        callable
            What was registered.

        Raises
        ------
        UnknownName
            Where there is no such name; the message lists those there are.

        Examples
        --------
        >>> shapes.maker("dot") is Dot
        True
        """
        if not isinstance(name, str) or (name not in self._makers and name not in self.homes):
            raise UnknownName(self.kind, name, self.names())
        if name not in self._makers:
            importlib.import_module(self.homes[name])
        return self._makers[name]

    def name_of(self, maker: Callable[..., Any]) -> str | None:
        """The name a class or function was entered under; None where it was not.

        Parameters
        ----------
        maker : callable
            The class or function.

        Returns
        -------
        str or None
            Its name.

        Examples
        --------
        >>> shapes.name_of(Dot)
        'dot'
        """
        return next((name for name, known in self._makers.items() if known is maker), None)

    def make(self, name: str, **options: Any) -> T:
        """Build the part called ``name``.

        Parameters
        ----------
        name : str
            A name of ``names()``.
        **options : object
            Its options.

        Returns
        -------
        object
            The part.

        Raises
        ------
        UnknownName
            Where there is no such name; the message lists those there are.
        ParameterError
            Where it has no such option (the message lists those it has), where one that it needs is missing, or where
            one is of another kind than it takes (a text for a number).

        Examples
        --------
        >>> type(shapes.make("dot")) is Dot
        True
        >>> from kcrc import methods
        >>> methods.make("KCRC-LCD", n_neighbors=20).n_neighbors
        20
        """
        maker = self.maker(name)
        if not options:  # nothing to look at, and to look takes longer than to make
            try:
                return maker()
            except TypeError:
                self._need(name, maker, options)
                raise
        accepted = inspect.signature(maker).parameters
        takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in accepted.values())
        unknown = [] if takes_any else [o for o in options if o not in accepted]
        if unknown:
            takes = ", ".join(accepted) or "no options"
            raise ParameterError(f"The {self.kind} '{name}' has no option '{unknown[0]}'. It takes: {takes}.")
        self._need(name, maker, options)
        from kcrc._base.options import check_options  # which needs NumPy

        try:
            made = maker(**options)  # which may know more of its options, and say it better
        except KCRCError:
            raise
        except Exception:
            check_options(f"the {self.kind} '{name}'", maker, options)
            raise
        check_options(f"the {self.kind} '{name}'", maker, options)
        return made

    def _need(self, name: str, maker: Callable[..., T], options: Mapping[str, Any]) -> None:
        """Raise an error that names the options without a default that are missing, if there are any."""
        named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        needed = [o for o, p in inspect.signature(maker).parameters.items() if p.kind in named and p.default is p.empty]
        if missing := [o for o in needed if o not in options]:
            raise ParameterError(f"The {self.kind} '{name}' needs {', '.join(f'{o}=' for o in missing)}.") from None
