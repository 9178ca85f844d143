import { describe, expect, it } from 'vitest'
import { historyOf, labelled, type Run } from './history'

interface Given {
  model?: string
  branch?: string
  metric?: string
  state?: string
}

function run(commit: string, value: number | null, given: Given = {}): Run {
  const { model = 'm', branch = 'main', metric = 'reward', state = 'finished' } = given
  return {
    state,
    id: `${commit}-${value}`,
    model,
    created_at: '2026-11-20T10:00:00Z',
    primary: value === null ? null : { name: metric, value, low: value - 0.1, high: value + 0.1 },
    request: { evaluation: { branch, commit, dirty: false, message: `about ${commit}` } },
  } as unknown as Run
}

describe('historyOf', () => {
  it('orders runs from old to new and groups neighbours of one commit', () => {
    const { points, stretches } = historyOf([run('bbbbbbbbb', 0.3), run('bbbbbbbbb', 0.2), run('aaaaaaaaa', 0.1)])
    expect(points.map(({ metric, at }) => [metric.value, at])).toEqual([
      [0.1, 0],
      [0.2, 1],
      [0.3, 2],
    ])
    expect(stretches.map(({ label, first, last, message }) => [label, first, last, message])).toEqual([
      ['aaaaaaa', 0, 0, 'about aaaaaaaaa'],
      ['bbbbbbb', 1, 2, 'about bbbbbbbbb'],
    ])
  })

  it('leaves out runs without a value or with another metric, and counts them', () => {
    const found = historyOf([run('c', null), run('b', 0.2), run('a', 0.9, { metric: 'pass' })])
    expect([found.metric, found.points.length, found.others]).toEqual(['reward', 1, 2])
  })

  it('shows no value of a run in progress', () => {
    const found = historyOf([run('b', 0.2, { state: 'running' }), run('a', 0.1)])
    expect([found.points.length, found.others]).toEqual([1, 0])
  })

  it('names a series by what differs', () => {
    const labels = (runs: Run[]) => historyOf(runs).series.map(({ label }) => label)
    expect(labels([run('a', 0.1)])).toEqual(['m'])
    expect(labels([run('b', 0.1, { branch: 'try' }), run('a', 0.1)])).toEqual(['main', 'try'])
    expect(labels([run('b', 0.1, { branch: 'try', model: 'n' }), run('a', 0.1)])).toEqual(['m, main', 'n, try'])
  })

  it('has nothing to show without runs', () => {
    expect(historyOf([])).toEqual({ metric: '', series: [], stretches: [], points: [], others: 0 })
  })
})

describe('labelled', () => {
  it('labels from the newest on, as many as have room', () => {
    const { stretches } = historyOf(['d', 'c', 'b', 'a'].map((commit) => run(commit, 0.5)))
    const names = (width: number) => labelled(stretches, (at) => at * 50, width).map(({ label }) => label)
    expect(names(50)).toEqual(['a', 'b', 'c', 'd'])
    expect(names(60)).toEqual(['b', 'd'])
    expect(names(500)).toEqual(['d'])
  })
})
