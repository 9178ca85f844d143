/** Settings of a configuration as lines of text: `evaluation.pass_threshold = 0.5`. */

/** Read the lines; a value is JSON, or else a text. Throws an Error with words for the field. */
export function readSettings(text: string): Record<string, unknown> {
  const found: Record<string, unknown> = {}
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue
    const [, key, value] = /^\s*([\w-]+(?:\.[\w-]+)+)\s*=\s*(.+?)\s*$/.exec(line) ?? []
    if (key === undefined || value === undefined)
      throw new Error(`“${line.trim()}” is no setting. Write lines such as evaluation.pass_threshold = 0.5.`)
    if (key in found) throw new Error(`${key} is there twice.`)
    found[key] = readValue(value)
  }
  return found
}

/** The lines that read as these settings. */
export function settingsText(settings: Readonly<Record<string, unknown>>): string {
  return Object.entries(settings)
    .map(([key, value]) => `${key} = ${written(value)}`)
    .join('\n')
}

/** A value as one writes it: texts without quotes, unless they would be read as something else. */
export function written(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value)
  const plain = value !== '' && value === value.trim() && !value.includes('\n') && readValue(value) === value
  return plain ? value : JSON.stringify(value)
}

function readValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
