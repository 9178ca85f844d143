/** What a technique can be told: read from its JSON Schema. */

/** A parameter in words, and what it is when nothing is said. */
interface Parameter {
  name: string
  kind: string
  fallback: unknown
}

/** The parameters of a technique. */
export function parametersOf(schema: Record<string, unknown> | null | undefined): Parameter[] {
  const properties = schema?.properties
  if (typeof properties !== 'object' || properties === null) return []
  return Object.entries(properties as Record<string, Record<string, unknown>>).map(([name, one]) => ({
    name,
    kind: kindOf(one),
    fallback: one.default,
  }))
}

/** The parameters in one line: `window_size (integer, 10)`. */
export function parameterWords(parameters: readonly Parameter[]): string {
  return parameters
    .map(({ name, kind, fallback }) => {
      const words = [kind, fallback === undefined || fallback === null ? '' : JSON.stringify(fallback)].filter(Boolean)
      return words.length > 0 ? `${name} (${words.join(', ')})` : name
    })
    .join('; ')
}

/** An example of parameters, in JSON: those that have a value when nothing is said. */
export function exampleOf(parameters: readonly Parameter[]): string {
  const known = parameters.filter(({ fallback }) => fallback !== undefined && fallback !== null)
  return JSON.stringify(Object.fromEntries(known.map(({ name, fallback }) => [name, fallback])))
}

function kindOf(schema: Record<string, unknown>): string {
  if (typeof schema.type === 'string') return schema.type
  const options = Array.isArray(schema.anyOf) ? (schema.anyOf as Record<string, unknown>[]) : []
  return options.map((one) => (typeof one.type === 'string' ? one.type : '')).find((type) => type !== 'null') ?? ''
}
