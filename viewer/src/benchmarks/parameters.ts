/** Settings of benchmarks in words. */
import type { Schema } from '../api/types'
import { rangeWords } from './vow'

/** One setting in words. */
interface ParameterWords {
  type: string
  usual: string
  meaning: string
  /** Choices, other names, what sets it: said in grey. */
  more: string
}

/** Say what a setting takes and means. */
export function parameterWords(parameter: Schema<'ParameterDocument'>): ParameterWords {
  const { type, help, default: usual, choices, minimum, maximum, aliases, sampling } = parameter
  const range = rangeWords(minimum, maximum)
  const more = [
    choices.length > 0 ? `One of ${choices.map(String).join(', ')}.` : '',
    aliases.length > 0 ? `Aliases: ${aliases.join(', ')}.` : '',
    sampling ? 'Set with --max-examples.' : '',
  ]
  return {
    type: range === '' ? type : `${type}, ${range}`,
    usual: usual === null || usual === undefined ? '' : typeof usual === 'string' ? usual : JSON.stringify(usual),
    meaning: help,
    more: more.filter(Boolean).join(' '),
  }
}
