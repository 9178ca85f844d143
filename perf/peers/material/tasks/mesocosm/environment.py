import mesocosm as mc


class TwoSums(mc.Environment):
    def reset(self, seed=None, **params):
        self.left = [(a, seed + 12, seed + 2) for a in (seed + 100, seed + 101)]
        return self.question()

    def step(self, action):
        a, b, c = self.left.pop(0)
        return mc.StepResult(self.question(), (int(action) == a * b - c) / 2, not self.left, False)

    def question(self):
        if not self.left:
            return "The end."
        return "Ada packs {} boxes with {} books each and gives {} books away.".format(*self.left[0])
