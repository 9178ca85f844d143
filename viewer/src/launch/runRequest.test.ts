import { expect, it } from 'vitest'
import type { Schema } from '../api/types'
import { bodiesOf, FRESH, mostOf, placed, type RunRequest, requestProblems } from './runRequest'

const FULL = { ...FRESH, domain: 'd1', version: '1.0.0', models: ['openai/gpt-4o-mini'] }

function requestBody(request: RunRequest) {
  return bodiesOf(request)[0]?.body as Schema<'RunInput'>
}

it('names what is missing or wrong', () => {
  expect(requestProblems(FULL)).toEqual({})
  expect(Object.keys(requestProblems(FRESH))).toEqual(['domain', 'models'])
  const wrong = { ...FULL, episodes: '0', temperature: '3', seeds: 'x', maxTokens: '1.5', models: [] }
  expect(Object.keys(requestProblems(wrong)).sort()).toEqual([
    'episodes',
    'maxTokens',
    'models',
    'seeds',
    'temperature',
  ])
})

it('names a technique whose parameters are no object', () => {
  const techniques = [{ id: 'memory', on: true, params: '[1]' }]
  expect(Object.keys(requestProblems({ ...FULL, techniques }))).toEqual(['technique memory'])
  expect(requestProblems({ ...FULL, techniques: [{ id: 'memory', on: false, params: '[1]' }] })).toEqual({})
})

it('sends as many episodes as there are seeds', () => {
  expect(requestBody({ ...FULL, seeds: '3-5' })).toMatchObject({ seed_set: [3, 4, 5], num_episodes: 3 })
  expect(requestBody(FULL)).toMatchObject({ seed_set: null, num_episodes: 5, visibility: 'private', team_id: null })
})

it('sends the techniques that are on', () => {
  const techniques = [
    { id: 'memory', on: true, params: '{"window": 3}' },
    { id: 'reflection', on: false, params: '' },
  ]
  expect(requestBody({ ...FULL, techniques }).agent_config.techniques).toEqual([
    { technique_id: 'memory', params: { window: 3 } },
  ])
})

it('puts what the server said at the fields', () => {
  expect(placed({ 'agent_config.model': 'no', 'seed_set.2': 'too large', other: 'odd' })).toEqual({
    at: { models: 'no', seeds: 'too large' },
    rest: ['other: odd'],
  })
})

it('tells how much a run needs at most', () => {
  expect(mostOf(FULL, 10)).toEqual({ calls: 50, tokens: 204_800 })
  expect(mostOf(FULL, null)).toBeUndefined()
})

const OFFICIAL = { ...FULL, official: true, seeds: '1, 2', temperature: 'x', episodes: '0', environment: 'e' }

it('sends of an official run only what the protocol leaves open', () => {
  const body = requestBody({ ...OFFICIAL, systemPrompt: 'Be brief' })
  expect(Object.keys(body).sort()).toEqual([
    'agent_config',
    'binding_vow_version',
    'domain_id',
    'kind',
    'max_parallel',
    'name',
    'official',
    'tags',
    'team_id',
  ])
  expect(Object.keys(body.agent_config).sort()).toEqual(['model', 'system_prompt', 'techniques'])
  expect(requestProblems(OFFICIAL)).toEqual({})
})

it('is sent once for each of several models, under names of their own', () => {
  const bodies = bodiesOf({ ...FULL, models: ['openai/a', 'house/b:7'], name: 'try', tags: 'x, y' })
  expect(bodies.map(({ model }) => model)).toEqual(['openai/a', 'house/b:7'])
  expect(bodies.map(({ body }) => body)).toMatchObject([
    { agent_config: { model: 'openai/a' }, name: 'try-a', tags: ['x', 'y'] },
    { agent_config: { model: 'house/b:7' }, name: 'try-b-7' },
  ])
})
