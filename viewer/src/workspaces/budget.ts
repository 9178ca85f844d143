/** The budget that was typed: an amount in US dollars, null for the default of the server, nothing if it is neither. */
export function budgetOf(text: string): number | null | undefined {
  const written = text.trim().replace(/^\$/, '')
  if (written === '') return null
  return /^\d+(\.\d+)?$/.test(written) ? Number(written) : undefined
}
