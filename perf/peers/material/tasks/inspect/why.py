from inspect_ai.log import list_eval_logs, read_eval_log

for sample in read_eval_log(list_eval_logs()[0]).samples:
    if sample.scores["exact"].value != "C":
        print(sample.input, sample.target, sample.output.completion)
