# seed: 3
# actions: ["go"]
# expect_total: 1.0 after 1 steps
import functools, inspect, logging, time, operator, copy, weakref, bisect, calendar, datetime as dt, uuid, hashlib, base64, json, pprint, secrets, difflib, unicodedata, types, zlib
logger = logging.getLogger(__name__)
logger.setLevel(logging.INFO); logger.propagate = False
def timed(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        out = fn(*args, **kwargs)
        wrapper.calls += 1
        return out
    wrapper.calls = 0
    return wrapper
class Registry(type(dict()).__class__ if False else object):
    items = {}
    def __init_subclass__(cls, **kw):
        super().__init_subclass__(**kw)
        Registry.items[cls.__name__] = cls
class A(Registry): pass
@timed
def f(x: int, *, y: str = "a") -> str:
    "Doc."
    return f"{x}{y}"
@functools.lru_cache(maxsize=None)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
class Env:
    def reset(self, seed=0): return "x"
    def step(self, action):
        f(1)
        d = dt.datetime(2024, 2, 28) + dt.timedelta(days=2)
        sig = inspect.signature(f)
        ns = types.SimpleNamespace(a=1); ns.b = 2
        shown = "|".join(map(str, [f.calls, f.__name__, f.__doc__, list(sig.parameters), sorted(Registry.items), fib(30), d.date(), d.strftime("%Y-%m-%d"), calendar.isleap(2024), hashlib.md5(b"a").hexdigest()[:4], base64.b64encode(b"a").decode(), json.dumps({"a": [1, None]}), ns, difflib.get_close_matches("appel", ["apple"]), copy.deepcopy({"a": [1]}), operator.itemgetter(1)([1, 2]), bisect.bisect([1, 3], 2), fib.cache_info().hits]))
        expected = '1|f|Doc.|[\'x\', \'y\']|[\'A\']|832040|2024-03-01|2024-03-01|True|0cc1|YQ==|{"a": [1, null]}|namespace(a=1, b=2)|[\'apple\']|{\'a\': [1]}|2|1|28'
        return shown, float(shown == expected), True
