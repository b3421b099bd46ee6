"""``numpy`` for programs: functions and operators on arrays of numbers, texts and truth values.

Each function is passed on through a thin wrapper that refuses a result of objects or of dates: arrays of objects hold
bare addresses, and dates can be asked for "now". ``empty`` gives zeros, as memory that was not cleared differs from
run to run. What opens files, evaluates text or looks at memory has no name here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from metagym.sandbox.facades.facade import Table
from metagym.sandbox.facades.forms import Form

_REFUSED_KINDS = "OMmVgG"
_WHAT = {
    "O": "arrays of objects are not offered; keep objects in a list",
    "M": "dates are not offered in numpy; use the module datetime",
    "m": "time spans are not offered in numpy; use the module datetime",
    "V": "arrays of records are not offered; keep one array for each field",
    "g": "long doubles differ between machines; use float64",
    "G": "long doubles differ between machines; use complex128",
}


def plain_array(result: Any) -> Any:
    """Gives `result` back.

    Raises:
        TypeError: It is an array, a scalar or a dtype, or holds one, of objects, dates, time spans, records or long
            doubles.
    """
    if isinstance(result, (np.ndarray, np.generic)):
        char = result.dtype.char
    elif isinstance(result, np.dtype):
        char = result.char
    else:
        if isinstance(result, (tuple, list)):
            for part in result:
                plain_array(part)
        return result
    if char in _REFUSED_KINDS:
        raise TypeError(_WHAT[char])
    return result


def checked(real: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A function of numpy whose results go through `plain_array`."""
    masked_out = name == "clip"  # the one function, not a ufunc, whose mask leaves places as they were

    def call(*args: Any, **kwargs: Any) -> Any:
        if masked_out and "where" in kwargs:
            raise TypeError("clip takes no mask here; use numpy.where(mask, numpy.clip(...), a)")
        result = real(*args, **kwargs)
        if type(result) is not np.ndarray or result.dtype.char in _REFUSED_KINDS:
            plain_array(result)
        return result

    call.__name__ = call.__qualname__ = name
    call.__module__ = "numpy"
    return call


class Ufunc:
    """A ufunc of numpy: calls and its five methods; where a mask leaves places out, they are zero."""

    __slots__ = ("__real",)
    __real: Any

    def __init__(self, real: np.ufunc) -> None:
        object.__setattr__(self, "_Ufunc__real", real)

    def __setattr__(self, name: str, value: object) -> None:
        """Refuses: it is read-only."""
        raise AttributeError("functions of numpy are read-only")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the ufunc."""
        if "where" in kwargs and kwargs.get("out") is None and kwargs["where"] is not True:
            return self.__masked(args, kwargs)
        result = self.__real(*args, **kwargs)
        if type(result) is not np.ndarray or result.dtype.char in _REFUSED_KINDS:
            plain_array(result)
        return result

    def __masked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        mask = kwargs.pop("where")
        with np.errstate(all="ignore"):
            shape = np.broadcast_shapes(np.shape(mask), *(np.shape(each) for each in args))
            kind = plain_array(np.asarray(self.__real(*args, **kwargs))).dtype
        kwargs["out"] = np.zeros(shape, kind)
        return self.__real(*args, where=mask, **kwargs)

    def reduce(self, *args: Any, **kwargs: Any) -> Any:
        """As in numpy."""
        return plain_array(self.__real.reduce(*args, **kwargs))

    def accumulate(self, *args: Any, **kwargs: Any) -> Any:
        """As in numpy."""
        return plain_array(self.__real.accumulate(*args, **kwargs))

    def reduceat(self, *args: Any, **kwargs: Any) -> Any:
        """As in numpy."""
        return plain_array(self.__real.reduceat(*args, **kwargs))

    def outer(self, *args: Any, **kwargs: Any) -> Any:
        """As in numpy."""
        return plain_array(self.__real.outer(*args, **kwargs))

    def at(self, *args: Any, **kwargs: Any) -> None:
        """As in numpy."""
        self.__real.at(*args, **kwargs)

    @property
    def identity(self) -> Any:
        """As in numpy."""
        return self.__real.identity

    @property
    def nin(self) -> int:
        """As in numpy."""
        return self.__real.nin

    @property
    def nout(self) -> int:
        """As in numpy."""
        return self.__real.nout

    def __repr__(self) -> str:
        """As in numpy."""
        return repr(self.__real)


def dtype(*args: Any, **kwargs: Any) -> np.dtype[Any]:
    """``numpy.dtype`` of numbers, texts and truth values.

    Raises:
        TypeError: It would hold objects, dates or raw memory.
    """
    made: np.dtype[Any] = plain_array(np.dtype(*args, **kwargs))
    return made


def pad(array: Any, pad_width: Any, mode: Any = "constant", **settings: Any) -> Any:
    """``numpy.pad``; the mode "empty" gives zeros."""
    if type(mode) is not str and not callable(mode):
        raise TypeError("the mode of numpy.pad is a text or a function")
    return plain_array(np.pad(array, pad_width, "constant" if mode == "empty" else mode, **settings))


def masked_all(shape: Any, dtype: Any = float) -> Any:
    """``numpy.ma.masked_all`` over zeros."""
    return np.ma.array(plain_array(np.zeros(shape, dtype)), mask=True)


class vectorize(np.vectorize):  # noqa: N801  (the name of the real class)
    """``numpy.vectorize``; no result of objects or dates."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """As in numpy."""
        return plain_array(super().__call__(*args, **kwargs))


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> Any:
    """``numpy.frombuffer`` of bytes, as a copy.

    Raises:
        TypeError: `buffer` is neither bytes nor bytearray.
    """
    if type(buffer) not in (bytes, bytearray):
        raise TypeError("numpy.frombuffer reads bytes here")
    return plain_array(np.frombuffer(buffer, dtype, count, offset)).copy()


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str) -> Any:
    """``numpy.fromstring`` of a text of numbers with a separator."""
    if type(string) is not str or not sep:
        raise TypeError("numpy.fromstring reads a text of numbers with sep=... here")
    return plain_array(np.fromstring(string, dtype, count, sep=sep))


def set_printoptions(**settings: Any) -> None:
    """``numpy.set_printoptions`` with numbers, texts and truth values; functions that format are refused."""
    if not all(value is None or isinstance(value, (int, float, str)) for value in settings.values()):
        raise TypeError("numpy.set_printoptions takes numbers, texts and truth values here")
    np.set_printoptions(**settings)


def seterr(**settings: Any) -> dict[str, Any]:
    """``numpy.seterr`` with "ignore", "warn" or "raise"."""
    if not all(value in ("ignore", "warn", "raise", None) for value in settings.values()):
        raise ValueError('numpy.seterr takes "ignore", "warn" or "raise" here')
    return {**np.seterr(**settings)}


class Grid:
    """``np.mgrid``, ``np.r_`` and the like: read by an index."""

    __slots__ = ("__real",)
    __real: Any

    def __init__(self, real: Any) -> None:
        object.__setattr__(self, "_Grid__real", real)

    def __setattr__(self, name: str, value: object) -> None:
        """Refuses: it is read-only."""
        raise AttributeError("names of numpy are read-only")

    def __getitem__(self, key: Any) -> Any:
        """As in numpy."""
        return plain_array(self.__real[key])


UFUNCS = (
    "abs absolute add arccos arccosh arcsin arcsinh arctan arctan2 arctanh bitwise_and bitwise_not bitwise_or "
    "bitwise_xor cbrt ceil conj conjugate copysign cos cosh deg2rad degrees divide divmod equal exp exp2 expm1 fabs "
    "float_power floor floor_divide fmax fmin fmod frexp gcd greater greater_equal heaviside hypot invert isfinite "
    "isinf isnan lcm ldexp left_shift less less_equal log log10 log1p log2 logaddexp logaddexp2 logical_and "
    "logical_not logical_or logical_xor matmul maximum minimum mod modf multiply negative nextafter not_equal positive "
    "power rad2deg radians reciprocal remainder right_shift rint sign signbit sin sinh spacing sqrt square subtract "
    "tan tanh true_divide trunc"
)
NEW_UFUNCS = (
    "acos acosh asin asinh atan atan2 atanh bitwise_count bitwise_invert bitwise_left_shift bitwise_right_shift matvec "
    "pow vecdot vecmat"
)
FUNCTIONS = (
    "all allclose amax amin angle any append apply_along_axis apply_over_axes arange argmax argmin "
    "argpartition argsort "
    "argwhere around array array2string array_equal array_equiv array_repr array_split array_str asanyarray asarray "
    "asarray_chkfinite ascontiguousarray asfortranarray atleast_1d atleast_2d atleast_3d average bartlett base_repr "
    "binary_repr bincount blackman block broadcast_arrays broadcast_shapes broadcast_to can_cast choose clip "
    "column_stack common_type compress concatenate convolve copy copyto corrcoef correlate count_nonzero cov cross "
    "cumprod cumsum delete diag diag_indices diag_indices_from diagflat diagonal diff digitize dot dsplit dstack "
    "ediff1d einsum einsum_path expand_dims extract eye fill_diagonal fix flatnonzero flip fliplr flipud "
    "format_float_positional format_float_scientific fromfunction fromiter full full_like geomspace geterr gradient "
    "hamming hanning histogram histogram2d histogram_bin_edges histogramdd hsplit hstack i0 identity imag "
    "indices inner "
    "insert interp intersect1d isclose iscomplex iscomplexobj isfortran isin isneginf isposinf isreal isrealobj "
    "isscalar issubdtype iterable ix_ kaiser kron lexsort linspace logspace mask_indices max may_share_memory mean "
    "median meshgrid min min_scalar_type moveaxis nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmean "
    "nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar ndim nonzero ones ones_like "
    "outer packbits "
    "partition percentile piecewise place poly polyadd polyder polydiv polyfit polyint polymul "
    "polysub polyval prod "
    "promote_types ptp put put_along_axis putmask quantile ravel ravel_multi_index real real_if_close repeat reshape "
    "resize result_type roll rollaxis roots rot90 round searchsorted select setdiff1d setxor1d shape "
    "shares_memory sinc size sort sort_complex split squeeze stack std sum swapaxes take take_along_axis "
    "tensordot tile "
    "trace transpose tri tril tril_indices tril_indices_from trim_zeros triu triu_indices triu_indices_from union1d "
    "unique unpackbits unravel_index unwrap vander var vdot vsplit vstack where zeros zeros_like "
    "get_printoptions"
)
NEW_FUNCTIONS = (
    "astype concat cumulative_prod cumulative_sum isdtype matrix_transpose permute_dims trapezoid unique_all "
    "unique_counts unique_inverse unique_values unstack"
)
SCALARS = (
    "bool_ byte ubyte short ushort intc uintc int_ uint intp uintp longlong ulonglong half single double "
    "csingle cdouble int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 "
    "complex128 str_ bytes_ number integer floating generic inexact signedinteger unsignedinteger complexfloating "
    "character flexible"
)


def _wrapped(names: str, wrap: Callable[[Any, str], Any]) -> dict[str, Any]:
    return {name: wrap(getattr(np, name), name) for name in names.split() if hasattr(np, name)}


def _ufunc(real: Any, name: str) -> Any:
    return Ufunc(real) if isinstance(real, np.ufunc) else checked(real, name)


def _older() -> dict[str, Any]:
    """Names that numpy 2 dropped and that programs still write."""
    names = {
        "float_": np.float64, "complex_": np.complex128, "unicode_": np.str_, "string_": np.bytes_,
        "Inf": np.inf, "Infinity": np.inf, "infty": np.inf, "NaN": np.nan, "PINF": np.inf, "NINF": -np.inf,
        "product": checked(np.prod, "product"), "cumproduct": checked(np.cumprod, "cumproduct"),
        "sometrue": checked(np.any, "sometrue"), "alltrue": checked(np.all, "alltrue"),
        "round_": checked(np.round, "round_"), "in1d": checked(lambda a, b, **k: np.isin(np.ravel(a), b, **k), "in1d"),
        "trapz": checked(np.trapezoid, "trapz"), "row_stack": checked(np.vstack, "row_stack"),
        "float": float, "int": int,
    }  # fmt: skip
    return {name: value for name, value in names.items() if name not in FUNCTIONS.split()}


_MEMORY = "it looks at memory; use numpy.array or a.copy()"
_FILES = "there are no files; keep the data in the program"
_OBJECTS = "it makes arrays of objects; use a list"
_DATES = "dates are not offered in numpy; use the module datetime"
_SETTING = "it changes or shows the library itself; leave it out"

NUMPY = (
    Table("numpy", numpy=True)
    .ours(
        "element by element over numbers; no result of objects or dates", **_wrapped(UFUNCS + " " + NEW_UFUNCS, _ufunc)
    )
    .ours("arrays in, arrays out; no result of objects or dates", **_wrapped(FUNCTIONS + " " + NEW_FUNCTIONS, checked))
    .ours(
        "cleared memory: what was not cleared differs from run to run",
        empty=checked(np.zeros, "empty"),
        empty_like=checked(np.zeros_like, "empty_like"),
    )
    .ours("settings of the session's worker", set_printoptions=set_printoptions, seterr=seterr)
    .ours("bytes or text in, a copy out", frombuffer=frombuffer, fromstring=fromstring)
    .real("types of numbers and texts", SCALARS)
    .real("types of numbers and texts", "bool long ulong", newer=True)
    .ours(
        "a type for isinstance; a call would show memory that was not cleared",
        ndarray=Form("numpy.ndarray", np.ndarray),
    )
    .ours("a type of numbers and texts; objects and dates are refused", dtype=Form("numpy.dtype", np.dtype, call=dtype))
    .ours("a type for isinstance", ufunc=Form("numpy.ufunc", Ufunc))
    .real("what a type of numbers can hold", "finfo iinfo")
    .real("iterators over indices", "ndenumerate ndindex")
    .ours("calls the program's own function for each element", vectorize=vectorize)
    .ours("its mode empty shows memory that was not cleared; here it gives zeros", pad=pad)
    .real("a polynomial by its coefficients", "poly1d")
    .real("settings within a with statement", "errstate printoptions")
    .ours(
        "read by an index",
        **{name: Grid(getattr(np, name)) for name in "mgrid ogrid r_ c_ s_ index_exp".split()},
    )
    .real("constants", "e euler_gamma inf nan newaxis pi True_ False_ little_endian")
    .ours("names of older versions, with the same meaning", **_older())
    .refuse(_FILES, "fromfile fromregex genfromtxt load loadtxt memmap save savetxt savez savez_compressed")
    .refuse(_MEMORY, "from_dlpack require nditer nested_iters flatiter broadcast ctypeslib shares_memory_exact")
    .refuse(_OBJECTS, "frompyfunc object_ void record recarray rec")
    .refuse(_DATES, "datetime64 timedelta64 busday_count busday_offset busdaycalendar is_busday datetime_as_string")
    .refuse(_DATES, "datetime_data isnat")
    .refuse("use arrays of two dimensions and the operator @", "matrix asmatrix bmat")
    .refuse(
        _SETTING,
        "get_include info show_config show_runtime test getbufsize setbufsize geterrcall seterrcall "
        "mintypecode typename "
        "ScalarType sctypeDict typecodes",
    )
    .refuse("use the functions of numpy itself", "char core dtypes emath f2py polynomial strings testing")
    .refuse("use float64 or complex128: these differ between machines", "float128 complex256 longdouble clongdouble")
)

_LINALG = (
    "cholesky cond det eig eigh eigvals eigvalsh inv lstsq matrix_power matrix_rank multi_dot norm pinv "
    "qr slogdet solve "
    "svd tensorinv tensorsolve"
)
_NEW_LINALG = "cross diagonal matmul matrix_norm matrix_transpose outer svdvals tensordot trace vecdot vector_norm"


def _module(module: Any, names: str) -> dict[str, Any]:
    return {name: checked(getattr(module, name), name) for name in names.split() if hasattr(module, name)}


LINALG = (
    Table("numpy.linalg", numpy=True)
    .ours("arrays in, arrays out", **_module(np.linalg, f"{_LINALG} {_NEW_LINALG}"))
    .real("an exception class", "LinAlgError")
)
FFT = Table("numpy.fft", numpy=True).ours(
    "arrays in, arrays out",
    **_module(
        np.fft,
        "fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft "
        "rfft2 rfftfreq rfftn",
    ),
)
TYPING = Table("numpy.typing", numpy=True).ours(
    "inert: they name types",
    NDArray=Form("NDArray", np.ndarray),
    ArrayLike=Form("ArrayLike"),
    DTypeLike=Form("DTypeLike"),
    NBitBase=Form("NBitBase"),
)
EXCEPTIONS = Table("numpy.exceptions", numpy=True).real(
    "exception classes",
    "AxisError ComplexWarning DTypePromotionError RankWarning TooHardError VisibleDeprecationWarning "
    "ModuleDeprecationWarning",
)
_MASKED = (
    "array masked_array masked_where masked_equal masked_not_equal masked_greater masked_greater_equal masked_less "
    "masked_less_equal masked_inside masked_outside masked_invalid masked_values getmask getmaskarray "
    "make_mask filled compressed count is_masked isMaskedArray sum mean median std var min max argmin argmax any all "
    "where concatenate average cumsum ones zeros unique sort"
)
MASKED = (
    Table("numpy.ma", numpy=True)
    .ours("arrays in, arrays with masks out", **_module(np.ma, _MASKED))
    .ours("cleared memory under the mask", masked_all=masked_all)
    .ours("constants and a type for isinstance", masked=np.ma.masked, nomask=np.ma.nomask)
    .ours("a type for isinstance", MaskedArray=Form("numpy.ma.MaskedArray", np.ma.MaskedArray))
    .rest("use the functions of numpy itself, with a mask as index")
)
LIB = Table("numpy.lib", real="", numpy=True).refuse("use the functions of numpy itself", "recfunctions npyio format")
STRIDES = (
    Table("numpy.lib.stride_tricks", numpy=True)
    .ours(
        "views within an array",
        sliding_window_view=checked(np.lib.stride_tricks.sliding_window_view, "sliding_window_view"),
        broadcast_to=checked(np.broadcast_to, "broadcast_to"),
    )
    .refuse("it reads outside of arrays; use sliding_window_view", "as_strided")
)

TABLES = (NUMPY, LINALG, FFT, MASKED, TYPING, EXCEPTIONS, LIB, STRIDES)
