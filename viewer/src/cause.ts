/** Why episodes fail and values are missing, in words for people, and what helps. */

/** A cause in words. */
export interface CauseWords {
  /** A word or two for tables and filters. */
  name: string
  /** What happened, as a whole sentence. */
  title: string
  /** More about it, and what helps; empty for a cause that is not known. */
  meaning: string
}

const CAUSES: Record<string, CauseWords> = {
  rate_limited: {
    name: 'Rate limited',
    title: 'The model provider refused: too many requests',
    meaning: 'Retries did not help. Run fewer episodes at once, or resume later.',
  },
  model_unavailable: {
    name: 'Model unavailable',
    title: 'The model could not be reached',
    meaning: 'Its server was down, overloaded or not answering. Resume when it is back.',
  },
  model_timeout: {
    name: 'Model timed out',
    title: 'The model took too long',
    meaning: 'No complete reply came within the time limit of a call.',
  },
  model_invalid: {
    name: 'Invalid reply',
    title: 'The model server’s answer made no sense',
    meaning: 'It was not the kind of answer that its interface promises. Check the address.',
  },
  model_rejected: {
    name: 'Request rejected',
    title: 'The model provider rejected the request',
    meaning: 'It found the request wrong; sending it again would not help.',
  },
  model_forbidden: {
    name: 'No access to the model',
    title: 'The model provider denied access',
    meaning: 'Check the key and what it may use.',
  },
  model_missing: { name: 'No such model', title: 'There is no such model', meaning: 'Check the name of the model.' },
  context_overflow: {
    name: 'Context overflow',
    title: 'The conversation outgrew the model’s context',
    meaning: 'It became longer than the model can read.',
  },
  reply_truncated: {
    name: 'Reply cut off',
    title: 'The model’s reply was cut off',
    meaning: 'It reached the token limit before it was done; a higher limit may help.',
  },
  malformed_action: {
    name: 'Malformed action',
    title: 'The model gave no valid action',
    meaning: 'Its reply could not be read as an action, even after being asked again.',
  },
  refused: { name: 'Refused', title: 'The model refused', meaning: 'It declined to do the task.' },
  capability_missing: {
    name: 'Capability missing',
    title: 'The model cannot do what the task needs',
    meaning: 'The task needs something that the model does not offer, such as images or tools.',
  },
  token_budget_exceeded: {
    name: 'Token budget used up',
    title: 'The token budget was used up',
    meaning: 'The episode needed more tokens than it was allowed.',
  },
  agent_error: {
    name: 'Agent error',
    title: 'The agent crashed',
    meaning: 'Its program raised an error.',
  },
  agent_timeout: {
    name: 'Agent timed out',
    title: 'The agent took too long',
    meaning: 'Its time was over before it was done.',
  },
  workflow_failed: {
    name: 'Workflow failed',
    title: 'The workflow raised an error',
    meaning: 'Its code did not come to an end; the traceback says where.',
  },
  workflow_invalid: {
    name: 'Workflow invalid',
    title: 'The workflow returned something that is no result',
    meaning: 'It must return nothing, or an output with messages that are JSON.',
  },
  workflow_timeout: {
    name: 'Workflow timed out',
    title: 'The workflow took too long',
    meaning: 'It was ended at its time limit; a higher one is set with agent_workflow_timeout_s.',
  },
  environment_error: {
    name: 'Environment error',
    title: 'The environment crashed',
    meaning: 'Its program raised an error or came to an end.',
  },
  environment_timeout: {
    name: 'Environment timed out',
    title: 'The environment took too long',
    meaning: 'It did not answer in time.',
  },
  environment_unreachable: {
    name: 'Environment unreachable',
    title: 'The environment could not be reached',
    meaning: 'Its server did not start, or it is gone.',
  },
  environment_invalid: {
    name: 'Invalid environment answer',
    title: 'The environment’s answer made no sense',
    meaning: 'It does not follow the protocol.',
  },
  sandbox_failed: {
    name: 'Sandbox failed',
    title: 'The sandbox failed',
    meaning: 'The place that the program should run in could not be used.',
  },
  grader_error: {
    name: 'Grader error',
    title: 'The grader failed',
    meaning: 'The episode was played, but could not be scored.',
  },
  grader_timeout: {
    name: 'Grader timed out',
    title: 'The grader took too long',
    meaning: 'It was ended at its time limit; a higher one is set with grader_timeout_s.',
  },
  skipped: {
    name: 'Skipped',
    title: 'The grader left the sample out',
    meaning: 'It asked for the sample to be counted nowhere.',
  },
  value_missing: {
    name: 'No value',
    title: 'A value to score was missing',
    meaning: 'The environment did not report what the metric reads.',
  },
  value_unusable: {
    name: 'Unusable value',
    title: 'A value to score could not be used',
    meaning: 'The environment reported it, but it is no number that the metric can read.',
  },
  unverified: {
    name: 'Not verified',
    title: 'The score could not be verified',
    meaning: 'What would have to run to check the answer cannot run on this machine.',
  },
  program_failed: {
    name: 'Program failed',
    title: 'The program of the benchmark failed',
    meaning: 'It ended with an error, or left no result. Its output says why.',
  },
  program_timeout: {
    name: 'Program timed out',
    title: 'The program of the benchmark took too long',
    meaning: 'It was ended at its time limit.',
  },
  rollout_failed: {
    name: 'Rollout failed',
    title: 'The process of the rollout failed',
    meaning: 'It did not start, ended, or broke its protocol. Its output says why; resuming tries again.',
  },
  proxy_failed: {
    name: 'Proxy failed',
    title: 'The model’s address for the program failed',
    meaning: 'The proxy between program and model did not work. Resuming tries again.',
  },
  store_error: {
    name: 'Not stored',
    title: 'The results could not be stored',
    meaning: 'Check the disk and the database.',
  },
  not_run: {
    name: 'Not played',
    title: 'The episode was not played',
    meaning: 'It was planned, but never played. Resuming the run plays it.',
  },
  agent_failure: {
    name: 'Agent failed',
    title: 'The agent failed by itself',
    meaning: 'This metric has no worst value that it could count as.',
  },
  cancelled: {
    name: 'Cancelled',
    title: 'The episode was cancelled',
    meaning: 'The run was stopped before it was over. Resuming plays it again.',
  },
  internal_error: {
    name: 'Internal error',
    title: 'mesocosm itself failed',
    meaning: 'This is a mistake in mesocosm; please report it.',
  },
}

/** Return a cause in words; one that is not known is shown by its name. */
export function causeWords(cause: string): CauseWords {
  return (Object.hasOwn(CAUSES, cause) ? CAUSES[cause] : undefined) ?? unknown(cause)
}

/** Return what a failure means for the numbers. */
export function verdict(valid: boolean): string {
  return valid
    ? 'This is the agent’s own failure: it counts as the worst score.'
    : 'This says nothing about the agent: the score is missing, not zero.'
}

function unknown(cause: string): CauseWords {
  const spelled = cause.replaceAll('_', ' ')
  const name = spelled.charAt(0).toUpperCase() + spelled.slice(1)
  return { name, title: name, meaning: '' }
}
