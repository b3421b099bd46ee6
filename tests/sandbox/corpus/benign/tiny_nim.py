# seed: 4
# actions: [[0, 1], [1, 9], "?", [2, 1], [0, 1], "swap", [2, 2], [0, 1]]
# expect_total: -1.57 after 8 steps
from random import Random as R
from functools import reduce as f
from operator import xor as x

N=3; W=lambda h:f(x,h)
B=lambda i,h:"|"*h or"-"
G={
 "nim":lambda h,i,n:0<=i<N and 0<n<=h[i],
 "odd":lambda h,i,n:0<=i<N and 0<n<=h[i] and n%2,
}


class P:
    __slots__="r","k"
    def __init__(s,r,k=.1): s.r,s.k=r,k
    def __call__(s,h):
        if s.r.random()<s.k: return s.rnd(h)
        t=W(h)
        return s.r.choice([(i,v-(v^t))for i,v in enumerate(h)if v^t<v]) if t else s.rnd(h)
    def rnd(s,h):
        i=s.r.choice([i for i,v in enumerate(h)if v]); return i,1


class Env:
    g="nim"

    def reset(s, seed=0):
        s.r=R(seed); s.h=[s.r.randint(3,7) for _ in"abc"]; s.p=P(s.r); s.t=0
        return s.o()

    o=lambda s:" ".join(B(*e)for e in enumerate(s.h))
    ok=lambda s,i,n:bool(G[s.g](s.h,i,n))

    def mv(s,i,n): s.h[i]-=n; return not any(s.h)

    def step(s, a):
        s.t+=1
        if a=="?": return s.o(),-.01,False,{"moves":[(i,n)for i in range(N)for n in range(1,s.h[i]+1)if s.ok(i,n)][:4]}
        if a=="swap": s.g={"nim":"odd","odd":"nim"}[s.g]; return s.g,0,False,{}
        try: i,n=map(int,a)
        except (TypeError,ValueError): return"?",-.5,False,{}
        if not s.ok(i,n): return s.o(),-.25,False,{}
        if s.mv(i,n): return s.o(),1.,True,{"win":1}
        v=.05 if not W(s.h) else -.02
        m=s.p(s.h); e=s.mv(*m)
        return s.o(),(v,-1.)[e],e,{"opp":m,"t":s.t}


if __name__=="__main__": e=Env(); print(e.reset(1)); print(*map(e.step,[[0,1],[1,1]]),sep="\n")
