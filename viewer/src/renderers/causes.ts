/** Why episodes fail, in words for people, and what helps. */

export interface Explanation {
  title: string
  meaning: string
}

const CAUSES: Record<string, Explanation> = {
  rate_limited: {
    title: 'The model provider refused: too many requests',
    meaning: 'Retries did not help. Run fewer episodes at once, or resume later.',
  },
  model_unavailable: {
    title: 'The model could not be reached',
    meaning: 'Its server was down, overloaded or not answering. Resume when it is back.',
  },
  model_timeout: {
    title: 'The model took too long',
    meaning: 'No complete reply came within the time limit of a call.',
  },
  model_invalid: {
    title: 'The model server’s answer made no sense',
    meaning: 'It was not the kind of answer that its interface promises. Check the address.',
  },
  model_rejected: {
    title: 'The model provider rejected the request',
    meaning: 'It found the request wrong; sending it again would not help.',
  },
  model_forbidden: { title: 'The model provider denied access', meaning: 'Check the key and what it may use.' },
  model_missing: { title: 'There is no such model', meaning: 'Check the name of the model.' },
  context_overflow: {
    title: 'The conversation outgrew the model’s context',
    meaning: 'It became longer than the model can read.',
  },
  reply_truncated: {
    title: 'The model’s reply was cut off',
    meaning: 'It reached the token limit before it was done; a higher limit may help.',
  },
  malformed_action: {
    title: 'The model gave no valid action',
    meaning: 'Its reply could not be read as an action, even after being asked again.',
  },
  refused: { title: 'The model refused', meaning: 'It declined to do the task.' },
  token_budget_exceeded: {
    title: 'The token budget was used up',
    meaning: 'The episode needed more tokens than it was allowed.',
  },
  agent_error: { title: 'The agent crashed', meaning: 'Its program raised an error; the detail says where.' },
  agent_timeout: { title: 'The agent took too long', meaning: 'Its time was over before it was done.' },
  environment_error: {
    title: 'The environment crashed',
    meaning: 'Its program raised an error; what it wrote is below.',
  },
  environment_timeout: { title: 'The environment took too long', meaning: 'It did not answer in time.' },
  environment_unreachable: {
    title: 'The environment could not be reached',
    meaning: 'Its server did not start, or it is gone.',
  },
  environment_invalid: {
    title: 'The environment’s answer made no sense',
    meaning: 'It does not follow the protocol; the detail says how.',
  },
  sandbox_failed: {
    title: 'The sandbox failed',
    meaning: 'The place that the program should run in could not be used.',
  },
  grader_error: { title: 'The grader failed', meaning: 'The episode was played, but could not be scored.' },
  value_missing: {
    title: 'A value to score was missing',
    meaning: 'The environment did not report what the metric reads.',
  },
  value_unusable: {
    title: 'A value to score could not be used',
    meaning: 'The environment reported it, but it is no number that the metric can read.',
  },
  store_error: { title: 'The results could not be stored', meaning: 'Check the disk and the database.' },
  cancelled: {
    title: 'The episode was cancelled',
    meaning: 'The run was stopped before it was over. Resuming plays it again.',
  },
  internal_error: {
    title: 'mesocosm itself failed',
    meaning: 'This is a mistake in mesocosm; please report it with the detail.',
  },
}

/** Return a cause in words; one that is not known is shown by its name. */
export function explain(cause: string): Explanation {
  return CAUSES[cause] ?? { title: sentence(cause), meaning: '' }
}

/** Return what a failure means for the numbers. */
export function verdict(valid: boolean): string {
  return valid
    ? 'This is the agent’s own failure: it counts as the worst score.'
    : 'This says nothing about the agent: the score is missing, not zero.'
}

function sentence(word: string): string {
  const text = word.replaceAll('_', ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}
