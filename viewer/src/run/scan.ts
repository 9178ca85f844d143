/** What the form of a scan says, as a request. */

/** The words of the form, as they were typed. */
export interface ScanWords {
  question: string
  kind: string
  labels: string
  where: string
  model: string
  name: string
  limit: string
  budget: string
}

export const NO_SCAN: ScanWords = {
  question: '',
  kind: 'yes',
  labels: '',
  where: '',
  model: '',
  name: '',
  limit: '',
  budget: '',
}

/** What is no number is sent as it stands, so that the server says what is wrong with it. */
function numberOf(text: string): number | null {
  return text.trim() === '' ? null : Number(text.trim()) || (text.trim() as unknown as number)
}

export function scanInput(words: ScanWords) {
  return {
    question: words.question.trim(),
    model: words.model.trim(),
    name: words.name.trim(),
    answers:
      words.kind === 'labels'
        ? words.labels
            .split(',')
            .map((word) => word.trim())
            .filter((word) => word !== '')
        : [],
    number: words.kind === 'number',
    where: words.where === '' ? [] : [words.where],
    limit: numberOf(words.limit),
    budget_usd: numberOf(words.budget),
    seed: 0,
    parallel: 4,
  }
}
