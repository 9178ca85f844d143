import { screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import type { Schema } from '../api/types'
import { metric } from '../run/examples'
import { draw } from '../run/testPage'
import { Leaderboard } from './Leaderboard'

function entry(given: Partial<Schema<'BenchmarkEntry'>>): Schema<'BenchmarkEntry'> {
  return {
    run_id: 'r',
    model: 'm',
    agent: 'loop',
    created_at: '2026-11-21T12:00:00Z',
    metric: metric(),
    cost_usd: null,
    tokens: 0,
    rank: 1,
    rank_last: 1,
    unranked: '',
    uncompared: 0,
    runs: 1,
    sample: false,
    reference: '',
    ...given,
  }
}

function benchmark(
  leaderboard: Schema<'BenchmarkEntry'>[],
  given: Partial<Schema<'BenchmarkDetail'>> = {},
): Schema<'BenchmarkDetail'> {
  return {
    id: 'grid',
    title: 'Grid',
    version: '1.0.0',
    digest: 'd',
    kind: 'environment',
    description: '',
    versions: 1,
    runs: 2,
    models: 2,
    last_run_at: null,
    metric: 'goal_rate',
    higher_is_better: true,
    best: null,
    floor: null,
    ceiling: null,
    info: {},
    all_versions: [],
    leaderboard,
    history: [],
    origin: 'built-in',
    source: '',
    licence: '',
    split: 'test',
    unit: 'ratio',
    coverage: { state: 'whole', tasks: 100, total: 100 },
    lacking: [],
    command: null,
    hosted: false,
    aliases: [],
    agent: 'chat',
    parameters: [],
    requirements: [],
    references: [],
    ...given,
  }
}

describe('Leaderboard', () => {
  const two = [
    entry({ run_id: 'a', model: 'one', rank: 1, rank_last: 2 }),
    entry({ run_id: 'b', model: 'two', rank: 1, rank_last: 2 }),
  ]

  it('shares places where the difference could be chance', async () => {
    await draw(<Leaderboard benchmark={benchmark(two)} />)
    expect(screen.getAllByText('1–2')).toHaveLength(2)
  })

  it('gives references no place', async () => {
    const oracle = entry({ model: 'builtin/oracle', rank: null, rank_last: null, reference: 'ceiling' })
    await draw(<Leaderboard benchmark={benchmark([oracle], { ceiling: 1 })} />)
    expect(screen.getByText('ceiling')).toBeTruthy()
    expect(screen.getByText(/the oracle, 1.000/)).toBeTruthy()
  })

  it('says why a run has no place, and that some cannot be compared', async () => {
    const doubtful = entry({ model: 'three', rank: null, rank_last: null, unranked: 'its numbers came with a file' })
    await draw(<Leaderboard benchmark={benchmark([...two.map((one) => ({ ...one, uncompared: 1 })), doubtful])} />)
    expect(screen.getByText('not ranked: its numbers came with a file')).toBeTruthy()
    expect(screen.getByText(/scored by different rules are not comparable/)).toBeTruthy()
  })

  it('compares the chosen runs in the order in which they were chosen', async () => {
    await draw(<Leaderboard benchmark={benchmark(two)} />)
    expect(screen.getByRole('button', { name: 'Select two to compare' })).toHaveProperty('disabled', true)
    await userEvent.click(screen.getByRole('checkbox', { name: 'Select two' }))
    await userEvent.click(screen.getByRole('checkbox', { name: 'Select one' }))
    await userEvent.click(screen.getByRole('button', { name: 'Compare 2' }))
    expect(await screen.findByText('/compare')).toBeTruthy()
  })

  it('says that runs on older content are not ranked', async () => {
    const all_versions = [
      { digest: 'd', version: '2', runs: 2, first_run_at: '2026-11-21T12:00:00Z' },
      { digest: 'o', version: '1', runs: 3, first_run_at: '2026-11-20T12:00:00Z' },
    ]
    await draw(<Leaderboard benchmark={benchmark(two, { all_versions })} />)
    expect(screen.getByText(/3 runs on older content are not ranked/)).toBeTruthy()
  })

  it('says when nothing has finished', async () => {
    await draw(<Leaderboard benchmark={benchmark([])} />)
    expect(screen.getByText('No finished runs yet')).toBeTruthy()
  })
})
