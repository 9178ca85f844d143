import { describe, expect, it } from 'vitest'
import { matrixOf, moved } from './matrix'
import { metricFixture, runFixture } from './runFixture'

const run = (id: string, benchmark: string, model: string, n_tasks: number, created_at = '2026-01-01T00:00:00Z') =>
  runFixture({
    id,
    benchmark,
    created_at,
    model: `openai/${model}`,
    title: { given: '', benchmark, model, differs: '' },
    primary: metricFixture({ n_tasks }),
  })

describe('the matrix', () => {
  it('shows the latest of the runs with the most tasks', () => {
    const { rows, models } = matrixOf([
      run('a', 'words', 'small', 5, '2026-01-03T00:00:00Z'),
      run('b', 'words', 'small', 100, '2026-01-01T00:00:00Z'),
      run('c', 'words', 'small', 100, '2026-01-02T00:00:00Z'),
      run('d', 'sums', 'large', 10),
    ])
    expect(models).toEqual(['small', 'large'])
    expect(rows.map(({ benchmark }) => benchmark)).toEqual(['words', 'sums'])
    expect(rows[0]?.cells.get('small')?.run.id).toBe('c')
    expect(rows[0]?.cells.get('small')?.runs).toHaveLength(3)
    expect(rows[0]?.cells.has('large')).toBe(false)
  })

  it('has no column for built-in agents', () => {
    expect(matrixOf([{ ...run('a', 'words', 'oracle', 5), model: 'builtin/oracle' }])).toEqual({ rows: [], models: [] })
  })
})

it('moves by arrows and stays inside', () => {
  expect(moved([0, 0], 'ArrowDown', 2, 2)).toEqual([1, 0])
  expect(moved([1, 1], 'ArrowRight', 2, 2)).toEqual([1, 1])
  expect(moved([0, 0], 'ArrowUp', 2, 2)).toEqual([0, 0])
})
