/** What the form for a run holds, what is sent, and the command that does the same. */
import type { Schema } from '../api/types'
import { readSeeds } from './seeds'
import { shellWord } from './shell'

/** A technique of the vow and how it was set; `params` is JSON. */
export interface ChosenTechnique {
  id: string
  on: boolean
  params: string
}

/** The fields as they were typed. */
export interface Order {
  domain: string
  environment: string
  version: string
  model: string
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
  /** Played by the protocol of the domain: what that fixes is not sent. */
  official: boolean
}

/** What the form begins with. */
export const FRESH: Order = {
  domain: '',
  environment: '',
  version: '',
  model: '',
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
  official: false,
}

/** What is wrong with fields, by their names. */
export type Problems = Partial<Record<Exclude<keyof Order, 'techniques' | 'official'> | `technique ${string}`, string>>

/** What is wrong before anything is sent. */
export function orderProblems(order: Order): Problems {
  const found: Problems = {}
  if (order.domain === '') found.domain = 'Choose a domain.'
  if (order.model.trim() === '') found.model = 'Choose a model.'
  else if (order.model.includes('*')) found.model = 'Replace the * with the full name.'
  if (!whole(order.parallel, 1)) found.parallel = 'Enter a whole number of at least 1.'
  if (!order.official) Object.assign(found, termProblems(order))
  for (const one of order.techniques) {
    if (one.on && paramsOf(one) === undefined) found[`technique ${one.id}`] = 'Enter a JSON object, such as {}.'
  }
  return found
}

/** What is wrong with what a protocol fixes for an official run. */
function termProblems(order: Order): Problems {
  const found: Problems = {}
  if (!whole(order.episodes, 1)) found.episodes = 'Enter a whole number of at least 1.'
  if (!whole(order.maxTokens, 1)) found.maxTokens = 'Enter a whole number of at least 1.'
  const heat = Number(order.temperature)
  if (order.temperature.trim() === '' || !(heat >= 0 && heat <= 2)) found.temperature = 'Enter a number from 0 to 2.'
  try {
    readSeeds(order.seeds)
  } catch (error) {
    found.seeds = error instanceof Error ? error.message : String(error)
  }
  return found
}

/** What is sent; of an official run what the protocol leaves open. */
export function orderBody(order: Order): Schema<'RunInput'> {
  if (order.official) {
    const { temperature: _temperature, max_tokens: _tokens, ...agent } = agentOf(order)
    const open = {
      domain_id: order.domain,
      binding_vow_version: order.version,
      agent_config: agent,
      max_parallel: Number(order.parallel),
      team_id: order.team || null,
      name: order.name.trim(),
      official: true,
    }
    // Fields with a default need not be sent; the type of a document has all of them.
    return open as Schema<'RunInput'>
  }
  const seeds = readSeeds(order.seeds)
  return {
    domain_id: order.domain,
    binding_vow_version: order.version,
    agent_config: agentOf(order),
    official: false,
    num_episodes: seeds?.length ?? Number(order.episodes),
    max_parallel: Number(order.parallel),
    seed_set: seeds,
    env_id: order.environment || null,
    team_id: order.team || null,
    visibility: order.visibility,
    name: order.name.trim(),
    tags: [],
    trials: 1,
  }
}

function agentOf(order: Order): Schema<'AgentInput'> {
  return {
    model: order.model.trim(),
    temperature: Number(order.temperature),
    max_tokens: Number(order.maxTokens),
    system_prompt: order.systemPrompt.trim() || null,
    techniques: order.techniques
      .filter((one) => one.on)
      .map((one) => ({ technique_id: one.id, params: paramsOf(one) ?? {} })),
  }
}

/** The fields of the form by the places that the server names them with. */
const PLACES: Record<string, Exclude<keyof Order, 'techniques' | 'official'>> = {
  domain_id: 'domain',
  binding_vow_version: 'version',
  'agent_config.model': 'model',
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

/** The command that starts the same run. */
export function orderCommand(order: Order): string {
  const seeds = quietly(() => readSeeds(order.seeds))
  const words = [
    'mesocosm run create',
    `--domain ${shellWord(order.domain || 'DOMAIN')}`,
    `--vow-version ${shellWord(order.version || 'VERSION')}`,
    `--model ${shellWord(order.model.trim() || 'MODEL')}`,
  ]
  if (order.official) words.push('--official')
  else words.push(`--episodes ${seeds?.length ?? (order.episodes || '1')}`)
  if (seeds && !order.official) words.push(`--seeds ${seeds.join(' ')}`)
  if (order.parallel !== '1') words.push(`--parallel ${order.parallel}`)
  if (!order.official) {
    if (Number(order.temperature) !== 0) words.push(`--temperature ${order.temperature}`)
    words.push(`--max-tokens ${order.maxTokens || '4096'}`)
  }
  if (order.systemPrompt.trim()) words.push(`--system-prompt ${shellWord(order.systemPrompt.trim())}`)
  if (order.environment && !order.official) words.push(`--env-id ${shellWord(order.environment)}`)
  words.push(order.team ? `--team ${shellWord(order.team)}` : '--solo')
  if (!order.official) words.push(`--visibility ${order.visibility}`)
  return words.join(' ')
}

/** Model calls and tokens that a run needs at most, in words; nothing while the numbers are not known. */
export function mostOf(
  order: Order,
  maxSteps: number | null | undefined,
): { calls: number; tokens: number } | undefined {
  const seeds = quietly(() => readSeeds(order.seeds))
  const episodes = seeds?.length ?? Number(order.episodes)
  if (order.official || !maxSteps || !(episodes >= 1) || !whole(order.maxTokens, 1)) return undefined
  return { calls: episodes * maxSteps, tokens: episodes * maxSteps * Number(order.maxTokens) }
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
