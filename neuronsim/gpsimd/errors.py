"""The errors of the host build, one small family."""


class GpSimdError(RuntimeError):
    """Something about a custom C++ operator is wrong."""


class BuildError(GpSimdError):
    """A source does not compile or link, or does not register what it should."""


class ArgumentError(GpSimdError, ValueError):
    """A call breaks a documented limit, or the shape function refuses it."""
