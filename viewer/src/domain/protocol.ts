import type { Schema } from '../api/types'
/** The terms of a new protocol as a form has them. */

/** What was written into the form. */
export interface Terms {
  episodes: string
  trials: string
  max_steps: string
  temperature: string
  max_tokens: string
  on_malformed: Schema<'OfficialProtocolInput'>['on_malformed']
}

/** The terms that the server takes where nothing is said. */
export const USUAL: Terms = {
  episodes: '20',
  trials: '1',
  max_steps: '',
  temperature: '0',
  max_tokens: '4096',
  on_malformed: 'auto',
}

const WHOLE = 'Enter a whole number of at least 1.'

/** What is wrong with each field; empty when the terms can be sent. The server says what it does not play. */
export function termProblems(terms: Terms): Partial<Record<keyof Terms, string>> {
  const found: Partial<Record<keyof Terms, string>> = {}
  for (const name of ['episodes', 'trials', 'max_tokens'] as const) if (!whole(terms[name])) found[name] = WHOLE
  if (terms.max_steps.trim() !== '' && !whole(terms.max_steps)) found.max_steps = WHOLE
  const temperature = Number(terms.temperature)
  if (terms.temperature.trim() === '' || !(temperature >= 0 && temperature <= 2)) {
    found.temperature = 'Enter a number from 0 to 2.'
  }
  return found
}

/** The terms as they are sent. */
export function termsBody(terms: Terms): Schema<'OfficialProtocolInput'> {
  return {
    episodes: Number(terms.episodes),
    trials: Number(terms.trials),
    max_steps: terms.max_steps.trim() === '' ? null : Number(terms.max_steps),
    temperature: Number(terms.temperature),
    max_tokens: Number(terms.max_tokens),
    on_malformed: terms.on_malformed,
  }
}

function whole(text: string): boolean {
  return /^\s*[1-9]\d*\s*$/.test(text)
}
