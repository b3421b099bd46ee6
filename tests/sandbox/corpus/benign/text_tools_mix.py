# seed: 3
# actions: ["go"]
# expect_total: 1.0 after 1 steps
import csv, io, shlex, fnmatch, html, textwrap, string, ipaddress, traceback, re
class Env:
    def reset(self, seed=0): return "x"
    def step(self, action):
        buf = io.StringIO()
        w = csv.DictWriter(buf, fieldnames=["a", "b"]); w.writeheader(); w.writerow({"a": 1, "b": "x,y"})
        rows = list(csv.DictReader(io.StringIO(buf.getvalue())))
        args = shlex.split("mv 'a b' c")
        try:
            {}["k"]
        except KeyError:
            tb = traceback.format_exc().strip().splitlines()[-1]
        wr = textwrap.TextWrapper(width=20, initial_indent="* ")
        wr.subsequent_indent = "  "
        t = string.Template("Hi $name").substitute(name="Bo")
        ip = ipaddress.ip_network("10.0.0.0/30")
        shown = f"{rows} {args} {fnmatch.filter(['a.py', 'b.txt'], '*.py')} {html.escape('<a>')} {tb} {wr.fill('the quick brown fox jumps')!r} {t} {[str(h) for h in ip.hosts()]} {string.ascii_lowercase[:3]} {shlex.quote('a b')}"
        expected = "[{'a': '1', 'b': 'x,y'}] ['mv', 'a b', 'c'] ['a.py'] &lt;a&gt; KeyError: 'k' '* the quick brown\\n  fox jumps' Hi Bo ['10.0.0.1', '10.0.0.2'] abc 'a b'"
        return shown, float(shown == expected), True
