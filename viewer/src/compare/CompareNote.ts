/** What to keep in mind of a comparison, with the runs called as everywhere else on the page. */
import type { Label } from './CompareLabels'
import type { BenchmarkComparison } from './CompareVerdict'

const CONTENT = 'The runs used different content of the benchmark.'

/** The note of a comparison: that the content differs comes first, and runs are named by their letters. */
export function noteWords(
  { note, same_content }: Pick<BenchmarkComparison, 'note' | 'same_content'>,
  labels: ReadonlyMap<string, Label>,
): string {
  let text = note
  if (!same_content && text.includes(CONTENT)) {
    text = [CONTENT, ...text.split(CONTENT).map((part) => part.trim())].filter(Boolean).join(' ')
  }
  // An id that begins a sentence has a capital letter.
  for (const [id, { letter }] of labels) text = text.replace(new RegExp(escaped(id), 'gi'), letter)
  return text
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
