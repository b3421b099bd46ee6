# seed: 3
# actions: ["def solve(xs):\n    return sum(xs)", "def solve(xs):\n    return sorted(xs)[::-1]", "def solve(xs):\n    return xs[", "def other(xs):\n    return 1", "def solve(xs):\n    return max(xs) - min(xs)", "def solve(xs):\n    return [x for i, x in enumerate(xs) if x not in xs[:i]]", "def solve(xs):\n    return sum(x for x in xs if x % 2 == 0)"]
# expect_total: -0.15 after 7 steps
"""
Coding environment: the agent writes Python functions that are checked with
hidden tests. The code runs with a small set of builtins.
"""
import random

SAFE_BUILTINS = {
    "abs": abs, "all": all, "any": any, "dict": dict, "enumerate": enumerate, "filter": filter,
    "float": float, "int": int, "len": len, "list": list, "map": map, "max": max, "min": min,
    "range": range, "reversed": reversed, "set": set, "sorted": sorted, "str": str, "sum": sum,
    "tuple": tuple, "zip": zip,
}

TASKS = [
    {"prompt": "Return the sum of the even numbers in xs.", "solution": lambda xs: sum(x for x in xs if x % 2 == 0)},
    {"prompt": "Return the difference between the largest and the smallest number.", "solution": lambda xs: max(xs) - min(xs)},
    {"prompt": "Return xs in descending order.", "solution": lambda xs: sorted(xs, reverse=True)},
    {"prompt": "Return xs without duplicates, keeping the order.", "solution": lambda xs: list(dict.fromkeys(xs))},
]


class CodingEnv:
    def __init__(self, num_tests=8, max_attempts_per_task=3):
        self.num_tests = num_tests
        self.max_attempts_per_task = max_attempts_per_task

    def reset(self, seed=None):
        self.rng = random.Random(seed)
        self.order = list(range(len(TASKS)))
        self.rng.shuffle(self.order)
        self.position = 0
        self.attempts = 0
        return self._get_prompt()

    def _get_prompt(self):
        task = TASKS[self.order[self.position]]
        return f"Task {self.position + 1}/{len(TASKS)}: write `def solve(xs)`. {task['prompt']}"

    def _make_tests(self):
        solution = TASKS[self.order[self.position]]["solution"]
        tests = []
        for _ in range(self.num_tests):
            xs = [self.rng.randint(-10, 10) for _ in range(self.rng.randint(1, 8))]
            tests.append((xs, solution(list(xs))))
        return tests

    def _run(self, code):
        namespace = {"__builtins__": SAFE_BUILTINS}
        exec(compile(code, "<agent>", "exec"), namespace)
        solve = namespace.get("solve")
        if not callable(solve):
            raise NameError("function 'solve' is not defined")
        passed = 0
        for xs, expected in self._make_tests():
            if solve(list(xs)) == expected:
                passed += 1
        return passed

    def step(self, action):
        self.attempts += 1
        error = None
        passed = 0
        try:
            passed = self._run(action)
        except SyntaxError as e:
            error = f"SyntaxError: {e.msg} (line {e.lineno})"
        except Exception as e:
            error = f"{type(e).__name__}: {e}"
        fraction = passed / self.num_tests
        if error:
            obs, reward = error, -0.2
        else:
            obs, reward = f"{passed}/{self.num_tests} tests passed.", fraction
        if fraction == 1.0 or self.attempts >= self.max_attempts_per_task:
            self.position += 1
            self.attempts = 0
            if self.position == len(TASKS):
                return obs + " Finished.", reward, True, {"passed": passed}
            obs += "\n" + self._get_prompt()
        return obs, reward, False, {"passed": passed}
