"""One registry class for everything that goes by name: distances, kernels, coders, projections, methods."""

from __future__ import annotations

import importlib
import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from functools import cache
from typing import Any, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

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
    >>> from kcrc import kernels
    >>> Registry = type(kernels.registry)
    >>> shapes = Registry("shape")
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
        try:
            made = maker(**options)  # which may know more of its options, and say it better
        except KCRCError:
            raise
        except Exception:
            check_options(f"the {self.kind} '{name}'", maker, options)
            raise
        check_options(f"the {self.kind} '{name}'", maker, options)
        return made

    def resolve(
        self,
        spec: Any,
        base: type[Any],
        *,
        from_function: Callable[..., T] | None = None,
        function: str = "a function",
        **options: Any,
    ) -> T:
        """The part that ``spec`` stands for: a name, a part, or a function where there is ``from_function``.

        Parameters
        ----------
        spec : object
            A name of ``names()``, a part, or a function.
        base : type
            The class of such parts.
        from_function : callable or None, default=None
            Makes a part of a function and options; None where a function is no part.
        function : str
            What function that is, for errors.
        **options : object
            Options of a part that is made here.

        Returns
        -------
        object
            The part.

        Raises
        ------
        UnknownName
            Where there is no such name.
        ParameterError
            Where it is nothing of the kind, or has no such option.

        Examples
        --------
        >>> type(shapes.resolve("dot", Dot)) is Dot
        True
        """
        if isinstance(spec, base):
            part: T = spec
            return part
        if isinstance(spec, str):
            return self.make(spec, **options)
        if from_function is not None and callable(spec):
            return from_function(spec, **options)
        what = ["a name", f"a {base.__name__}", *([] if from_function is None else [function])]
        raise ParameterError(
            f"{self.kind} is {', '.join(what[:-1])} or {what[-1]}; got {spec!r}. Names: {', '.join(self.names())}."
        )

    def _need(self, name: str, maker: Callable[..., T], options: Mapping[str, Any]) -> None:
        """Raise an error that names the options without a default that are missing, if there are any."""
        named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        needed = [o for o, p in inspect.signature(maker).parameters.items() if p.kind in named and p.default is p.empty]
        if missing := [o for o in needed if o not in options]:
            raise ParameterError(f"The {self.kind} '{name}' needs {', '.join(f'{o}=' for o in missing)}.") from None


# Whether a value read from a file is of the kind its place is annotated with.
#
# Python checks no annotations; code that was written for a number does odd things with a text, late and far away. What
# comes from a file is compared with the annotation where it comes in.

_WIDEST = 1 << 63  # whole numbers are those of a machine


@cache
def hints_of(owner: Any) -> Mapping[str, Any]:
    """The annotations of a class or function, by name."""
    return types.MappingProxyType(get_type_hints(owner))


def fits(value: Any, hint: Any) -> bool:
    """Whether ``value`` is what ``hint`` says: numbers, text, tuples, dicts, arrays and parts of the library.

    A list fits where a tuple is due, a whole number where any number is, and 0 or 1 where a truth value is. A function
    fits nowhere: no file can hold one.
    """
    import numpy as np  # names are listed without it

    hint = _resolve_alias(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(fits(value, each) for each in arguments)
    if origin is Literal:
        return isinstance(value, str) and value in arguments
    if hint is None or hint is type(None):
        return value is None
    if hint is bool:
        return isinstance(value, bool) or (isinstance(value, int) and value in (0, 1))
    if hint is int:
        return _whole(value)
    if hint is float:
        return _whole(value) or isinstance(value, float)
    if origin is tuple:
        return isinstance(value, list | tuple) and _each(value, arguments)
    if origin is dict:
        of_key, of_value = arguments
        return isinstance(value, dict) and all(fits(k, of_key) and fits(v, of_value) for k, v in value.items())
    if origin is np.ndarray:
        return isinstance(value, np.ndarray)
    return isinstance(hint, type) and isinstance(value, hint)


def _resolve_alias(hint: Any) -> Any:
    """What a name that a ``type`` statement gave stands for: newer versions of NumPy have such a one in ``NDArray``.

    Its arguments (of an array: the type of its numbers) are not looked at.
    """
    while (stands_for := getattr(get_origin(hint) or hint, "__value__", None)) is not None:
        hint = stands_for
    return hint


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -_WIDEST <= value < _WIDEST


def _each(values: Any, hints: tuple[Any, ...]) -> bool:
    if len(hints) == 2 and hints[1] is Ellipsis:
        return all(fits(value, hints[0]) for value in values)
    return len(values) == len(hints) and all(map(fits, values, hints))


# Options of a part compared with what they are annotated with, and said in words where one is something else.
#
# Python checks no annotations, and an option of the wrong kind would end in a TypeError far away from its cause.
# Only plain kinds are compared (numbers, truth values, text, tuples of those); parts look at the others themselves.

_WORDS = {int: "a whole number", float: "a number", bool: "True or False", str: "a text", type(None): "None"}
_SEVERAL = {int: "whole numbers", float: "numbers", bool: "truth values", str: "texts"}
_NUMBERS = ("no", "one", "two", "three", "four")


def check_options(part: str, maker: Any, given: Mapping[str, Any]) -> None:
    """Raise a ParameterError where an option of ``part`` (the feature 'hog') is not what ``maker`` takes."""
    hints = _hints(maker)
    for name, value in given.items():
        hint = hints.get(name)
        if hint is not None and _is_plain(hint) and not fits(_python(value), hint):
            raise ParameterError(f"{name} of {part} is {words(hint)}; got {value!r:.100}.")


def _hints(maker: Any) -> Mapping[str, Any]:
    """The annotations of its options; none where a part of the user's own names types that cannot be looked up."""
    fields = is_dataclass(maker) or not isinstance(maker, type)
    try:
        return hints_of(maker if fields else maker.__init__)
    except (NameError, TypeError, AttributeError):
        return {}


def words(hint: Any) -> str:
    """What an annotation asks for, to be read: a whole number or None."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(words(each) for each in arguments)
    if origin is Literal:
        names = [repr(each) for each in arguments]
        return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    if origin is tuple:
        several = _SEVERAL.get(arguments[0], "values")
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return f"a list of {several}"
        count = _NUMBERS[len(arguments)] if len(arguments) < len(_NUMBERS) else len(arguments)
        such = f", such as ({', '.join(['8'] * len(arguments))})" if arguments[0] in (int, float) else ""
        return f"{count} {several}{such}"
    return _WORDS.get(hint, str(hint))


def _is_plain(hint: Any) -> bool:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType) or origin is tuple:
        return all(each is Ellipsis or _is_plain(each) for each in arguments)
    return origin is Literal or hint in _WORDS


def _python(value: Any) -> Any:
    """NumPy's numbers as Python's, also those in a list or tuple."""
    from kcrc._base.arrays import as_python

    return tuple(map(_python, value)) if isinstance(value, list | tuple) else as_python(value)


# What a part says of itself, so that its callers need not know which part it is.
#
# A capability is an attribute of a contract ("it orders like the Euclidean distance", "it iterates"), about what a
# part's methods do. A subclass that does it in a way of its own inherits no such word: it says it again, or has none.


def reset_capabilities(part: type, *, methods: tuple[str, ...], capabilities: Mapping[str, Any]) -> None:
    """Give a class that defines one of ``methods`` the value in ``capabilities`` for each it does not state itself."""
    if any(name in vars(part) for name in methods):
        for name, none in capabilities.items():
            if name not in vars(part):
                setattr(part, name, none)
