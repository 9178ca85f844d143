/** Names of models as they fit into a row. */
import { clip } from './clip'

/** Longer ones are no names of models on servers. */
const LONGEST = 1_000

/** A model's name in two parts: who it is, and the server that it is asked at (empty when that goes without saying). */
interface ModelWords {
  name: string
  server: string
}

/** A model in one line: `openai/small at 127.0.0.1:8771`. */
export function modelText(model: string): string {
  const { name, server } = modelWords(model)
  return server === '' ? name : `${name} at ${server}`
}

/** `openai/small@http://127.0.0.1:8771/v1` is `openai/small` at `127.0.0.1:8771`. */
export function modelWords(model: string): ModelWords {
  if (model.length > LONGEST) return { name: clip(model), server: '' }
  const found = /^(.*?)@(https?:\/\/[^\s]*)$/.exec(model)
  if (!found) return { name: model, server: '' }
  const [, name = model, url = ''] = found
  return { name, server: url.replace(/^https?:\/\//, '').replace(/\/.*$/, '') }
}
