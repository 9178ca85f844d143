/** What the form for a run holds, what is sent, and the command that does the same. */
import type { Schema } from '../api/types'
import { tagList } from '../evaluate/evaluation'
import { modelsProblem, nameOf, type Wanted } from './runs'
import { readSeeds } from './seeds'

/** A technique of the vow and how it was set; `params` is JSON. */
export interface ChosenTechnique {
  id: string
  on: boolean
  params: string
}

/** The fields as they were typed. */
export interface RunRequest {
  domain: string
  environment: string
  version: string
  models: readonly string[]
  episodes: string
  parallel: string
  seeds: string
  temperature: string
  maxTokens: string
  systemPrompt: string
  techniques: ChosenTechnique[]
  team: string
  visibility: 'private' | 'gallery_public'
  name: string
  tags: string
  /** Played by the protocol of the domain: what that fixes is not sent. */
  official: boolean
}

/** What the form begins with. */
export const FRESH: RunRequest = {
  domain: '',
  environment: '',
  version: '',
  models: [],
  episodes: '5',
  parallel: '2',
  seeds: '',
  temperature: '0',
  maxTokens: '4096',
  systemPrompt: '',
  techniques: [],
  team: '',
  visibility: 'private',
  name: '',
  tags: '',
  official: false,
}

/** What is wrong with fields, by their names. */
export type Problems = Partial<
  Record<Exclude<keyof RunRequest, 'techniques' | 'official'> | `technique ${string}`, string>
>

/** What is wrong before anything is sent. */
export function requestProblems(request: RunRequest): Problems {
  const found: Problems = {}
  if (request.domain === '') found.domain = 'Choose a domain.'
  const models = modelsProblem(request.models)
  if (models) found.models = models
  if (!whole(request.parallel, 1)) found.parallel = 'Enter a whole number of at least 1.'
  if (!request.official) Object.assign(found, termProblems(request))
  for (const one of request.techniques) {
    if (one.on && paramsOf(one) === undefined) found[`technique ${one.id}`] = 'Enter a JSON object, such as {}.'
  }
  return found
}

/** What is wrong with what a protocol fixes for an official run. */
function termProblems(request: RunRequest): Problems {
  const found: Problems = {}
  if (!whole(request.episodes, 1)) found.episodes = 'Enter a whole number of at least 1.'
  if (!whole(request.maxTokens, 1)) found.maxTokens = 'Enter a whole number of at least 1.'
  const heat = Number(request.temperature)
  if (request.temperature.trim() === '' || !(heat >= 0 && heat <= 2)) found.temperature = 'Enter a number from 0 to 2.'
  try {
    readSeeds(request.seeds)
  } catch (error) {
    found.seeds = error instanceof Error ? error.message : String(error)
  }
  return found
}

/** What is sent, a run for each model. */
export function bodiesOf(request: RunRequest): Wanted[] {
  const several = request.models.length > 1
  return request.models.map((model) => ({
    model,
    body: requestBody({ ...request, name: nameOf(request.name, model, several) }, model),
  }))
}

/** What is sent; of an official run what the protocol leaves open. */
function requestBody(request: RunRequest, model: string): Schema<'RunInput'> {
  if (request.official) {
    const { temperature: _temperature, max_tokens: _tokens, ...agent } = agentOf(request, model)
    const open = {
      kind: 'environment',
      domain_id: request.domain,
      binding_vow_version: request.version,
      agent_config: agent,
      max_parallel: Number(request.parallel),
      team_id: request.team || null,
      name: request.name,
      tags: tagList(request.tags),
      official: true,
    }
    // Fields with a default need not be sent; the type of a document has all of them.
    return open as Schema<'RunInput'>
  }
  const seeds = readSeeds(request.seeds)
  return {
    kind: 'environment',
    domain_id: request.domain,
    binding_vow_version: request.version,
    agent_config: agentOf(request, model),
    official: false,
    num_episodes: seeds?.length ?? Number(request.episodes),
    max_parallel: Number(request.parallel),
    seed_set: seeds,
    env_id: request.environment || null,
    team_id: request.team || null,
    visibility: request.visibility,
    name: request.name,
    tags: tagList(request.tags),
    trials: 1,
  }
}

function agentOf(request: RunRequest, model: string): Schema<'AgentInput'> {
  return {
    model,
    temperature: Number(request.temperature),
    max_tokens: Number(request.maxTokens),
    system_prompt: request.systemPrompt.trim() || null,
    techniques: request.techniques
      .filter((one) => one.on)
      .map((one) => ({ technique_id: one.id, params: paramsOf(one) ?? {} })),
  }
}

/** The fields of the form by the places that the server names them with. */
const PLACES: Record<string, Exclude<keyof RunRequest, 'techniques' | 'official'>> = {
  domain_id: 'domain',
  binding_vow_version: 'version',
  'agent_config.model': 'models',
  'agent_config.temperature': 'temperature',
  'agent_config.max_tokens': 'maxTokens',
  'agent_config.system_prompt': 'systemPrompt',
  num_episodes: 'episodes',
  max_parallel: 'parallel',
  seed_set: 'seeds',
  env_id: 'environment',
  team_id: 'team',
  visibility: 'visibility',
  name: 'name',
  tags: 'tags',
}

/** Problems that the server told, at the fields of the form; the rest by their own names. */
export function placed(fields: Readonly<Record<string, string>>): { at: Problems; rest: string[] } {
  const at: Problems = {}
  const rest: string[] = []
  for (const [place, words] of Object.entries(fields)) {
    const found = Object.entries(PLACES).find(([known]) => place === known || place.startsWith(`${known}.`))
    if (found) at[found[1]] = words
    else rest.push(`${place}: ${words}`)
  }
  return { at, rest }
}

/** Model calls and tokens that a run needs at most, in words; nothing while the numbers are not known. */
export function mostOf(
  request: RunRequest,
  maxSteps: number | null | undefined,
): { calls: number; tokens: number } | undefined {
  const seeds = quietly(() => readSeeds(request.seeds))
  const episodes = seeds?.length ?? Number(request.episodes)
  if (request.official || !maxSteps || !(episodes >= 1) || !whole(request.maxTokens, 1)) return undefined
  return { calls: episodes * maxSteps, tokens: episodes * maxSteps * Number(request.maxTokens) }
}

function whole(text: string, least: number): boolean {
  return /^\d+$/.test(text.trim()) && Number(text) >= least
}

function paramsOf(one: ChosenTechnique): Record<string, unknown> | undefined {
  const found: unknown = quietly(() => JSON.parse(one.params.trim() || '{}'))
  return typeof found === 'object' && found !== null && !Array.isArray(found)
    ? (found as Record<string, unknown>)
    : undefined
}

function quietly<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
