/** Names of secrets, as the server takes them. */

const NAME = /^[A-Z][A-Z0-9_]{0,127}$/

/** What is wrong with a name; nothing if nothing is. */
export function nameFault(name: string): string | undefined {
  if (name === '') return 'Enter a name.'
  return NAME.test(name) ? undefined : 'Capital letters, digits and _, a letter first, at most 128.'
}

/** The names in a text, also as they stand in a configuration: `["A", "B"]`. */
export function namesIn(text: string): string[] {
  return [...new Set(text.split(/[^\w]+/).filter((word) => NAME.test(word)))]
}
