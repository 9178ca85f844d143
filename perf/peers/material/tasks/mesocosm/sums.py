import mesocosm as mc


@mc.benchmark
def sums():
    return mc.Benchmark("questions.csv", name="sums", prompt="{question}", grader="numeric")
