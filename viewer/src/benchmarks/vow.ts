/** A binding vow in words: what an environment promises about observations, actions, rewards and episodes. */

import type { Schema } from '../api/types'
import { REWARDS, SPACES } from '../api/words'
import { duration } from '../format'
import { lookOf } from '../parts/look'

type Json = Schema<'JsonValue'>
type JsonObject = Record<string, Json>

/** One space in words: its kind, its limits, what its author says of it, and the spaces inside it. */
export interface SpaceWords {
  name: string
  kind: string
  limits: string
  choices: string[]
  description: string
  schema: Json | null
  inside: SpaceWords[]
}

/** A vow in words. Anything that the vow does not say is absent. */
export interface VowWords {
  prompt: string
  observation: SpaceWords | null
  action: SpaceWords | null
  reward: { kind: string; range: string; description: string } | null
  episode: string[]
  techniques: { name: string; required: boolean; options: Json | null }[]
}

const DEEPEST = 6

/** Read a vow; null when there is none. Whatever is of another shape than promised is passed over. */
export function vowWords(raw: Json | undefined): VowWords | null {
  const vow = object(raw)
  if (Object.keys(vow).length === 0) return null
  return {
    prompt: string(vow.description),
    observation: spaceWords('', vow.observation_space),
    action: spaceWords('', vow.action_space),
    reward: rewardWords(object(vow.reward)),
    episode: episodeWords(object(vow.episode)),
    techniques: list(vow.techniques).map((item) => techniqueWords(object(item))),
  }
}

/** A pair of bounds as people write them. */
export function rangeWords(low: Json | undefined, high: Json | undefined): string {
  if (typeof low === 'number' && typeof high === 'number') return `${low} to ${high}`
  if (typeof low === 'number') return `at least ${low}`
  if (typeof high === 'number') return `at most ${high}`
  return ''
}

function spaceWords(name: string, raw: Json | undefined, depth = 0): SpaceWords | null {
  const space = object(raw)
  if (Object.keys(space).length === 0) return null
  const bounds = object(space.bounds)
  const fields = depth < DEEPEST ? Object.entries(object(space.fields)) : []
  const type = string(space.type) || (fields.length > 0 ? 'composite' : '')
  return {
    name,
    kind: lookOf<string>(SPACES, type) ?? type.replaceAll('_', ' '),
    limits: [shapeWords(space.shape), string(space.dtype), rangeWords(bounds.low, bounds.high)]
      .filter(Boolean)
      .join(', '),
    choices: list(space.enum_values).map(String),
    description: string(space.description),
    schema: schemaOf(space),
    inside: fields.map(([key, value]) => spaceWords(key, value, depth + 1)).filter((found) => found !== null),
  }
}

function schemaOf(space: JsonObject): Json | null {
  const given = space.schema ?? space.schema_ref
  if (typeof given !== 'string') return given ?? null
  try {
    return JSON.parse(given) as Json
  } catch {
    return given
  }
}

function shapeWords(shape: Json | undefined): string {
  return Array.isArray(shape) && shape.length > 0 ? shape.join(' × ') : ''
}

function rewardWords(reward: JsonObject): VowWords['reward'] {
  const type = string(reward.type)
  if (type === '') return null
  const range = object(reward.range)
  return {
    kind: lookOf<string>(REWARDS, type) ?? type,
    range: rangeWords(range.low, range.high),
    description: string(reward.description),
  }
}

function episodeWords(episode: JsonObject): string[] {
  const said: string[] = []
  const { max_steps: steps, max_wall_seconds: seconds, parallel_episodes: parallel } = episode
  said.push(typeof steps === 'number' ? `at most ${plural(steps, 'step')}` : 'any number of steps')
  if (typeof seconds === 'number') said.push(`at most ${duration(seconds)}`)
  if (episode.supports_seed === true)
    said.push(episode.deterministic_reset === true ? 'the seed determines the start' : 'supports seeds')
  if (episode.supports_seed === false) said.push('does not support seeds')
  if (typeof parallel === 'number')
    said.push(parallel === 1 ? 'one episode at a time' : `up to ${parallel} in parallel`)
  if (episode.observability === 'full') said.push('fully observable')
  if (episode.observability === 'partial') said.push('partially observable')
  return said
}

function techniqueWords(technique: JsonObject): VowWords['techniques'][number] {
  const options = technique.config_schema ?? null
  return { name: string(technique.technique_id), required: technique.required === true, options }
}

function plural(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`
}

function object(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}
}

function list(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : []
}

function string(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}
