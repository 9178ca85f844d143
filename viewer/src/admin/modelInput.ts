/** What the form of a model holds, and what is sent. */
import type { Schema } from '../api/types'

type Model = Schema<'ManagedModelDocument'>
type Input = Schema<'ModelInput'>

/** The fields as they were typed. */
export interface ModelDraft {
  name: string
  served: string
  /** Empty: as it is. */
  key: string
  forget: boolean
  title: string
  input: string
  output: string
  parallel: string
  /** Names, separated by commas; empty: all. */
  workspaces: string
  guests: boolean
  batch: boolean
  disabled: boolean
}

/** The form of a model, or of a new one. */
export function draftOf(model: Model | undefined): ModelDraft {
  const price = model?.own_price ? model.price : null
  return {
    name: model?.name ?? '',
    served: model?.served_as ?? '',
    key: '',
    forget: false,
    title: model?.title ?? '',
    input: price ? String(price.input) : '',
    output: price ? String(price.output) : '',
    parallel: model?.parallel == null ? '' : String(model.parallel),
    workspaces: model?.workspaces.map(({ name }) => name).join(', ') ?? '',
    guests: model?.guests ?? false,
    batch: model?.full_bench ?? false,
    disabled: model?.disabled ?? false,
  }
}

/** What is wrong before anything is sent. */
export function draftProblems(draft: ModelDraft): Partial<Record<keyof ModelDraft, string>> {
  const found: Partial<Record<keyof ModelDraft, string>> = {}
  if (!/^[A-Za-z][\w-]*\/\S+$/.test(draft.name.trim())) found.name = 'Enter provider/name, such as openai/gpt-5-mini.'
  for (const side of ['input', 'output'] as const) {
    const other = draft[side === 'input' ? 'output' : 'input'].trim()
    const given = draft[side].trim()
    if (given === '' ? other !== '' : !(Number(given) >= 0)) found[side] = 'Enter USD per million tokens, for both.'
  }
  if (draft.parallel.trim() !== '' && !/^[1-9]\d*$/.test(draft.parallel.trim()))
    found.parallel = 'Enter a whole number of at least 1.'
  return found
}

/** What is sent. */
export function draftInput(draft: ModelDraft): Input {
  const { input, output, parallel } = draft
  return {
    served_as: draft.served.trim(),
    key: draft.forget ? '' : draft.key.trim() || null,
    title: draft.title.trim(),
    price: input.trim() === '' ? null : { input: Number(input), output: Number(output) },
    parallel: parallel.trim() === '' ? null : Number(parallel),
    workspaces: draft.workspaces
      .split(',')
      .map((name) => name.trim())
      .filter(Boolean),
    guests: draft.guests,
    full_bench: draft.batch,
    disabled: draft.disabled,
  }
}

/** A model as it is; its key is kept. */
export function inputOf(model: Model): Input {
  return { ...draftInput(draftOf(model)), workspaces: model.workspaces.map(({ id, name }) => id || name) }
}
