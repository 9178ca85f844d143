import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { SiteSource } from '../api/site'
import { adjusted } from './compare'
import { fileName, forgetFiles } from './files'

const source = new SiteSource()
const asked: string[] = []
let files: Record<string, unknown> = {}

beforeEach(() => {
  forgetFiles()
  asked.length = 0
  files = {}
  vi.stubGlobal('fetch', async (address: string) => {
    const name = new URL(address).pathname.replace(/^.*\/data\/(.*)\.json$/, '$1')
    asked.push(name)
    if (!(name in files)) return new Response('{}', { status: 404 })
    return new Response(JSON.stringify(files[name]), { status: 200 })
  })
})
afterEach(() => vi.unstubAllGlobals())

const usage = { total: 0, cost_usd: null }

function run(id: string, more: object = {}) {
  const plain = {
    name: '',
    benchmark: 'words',
    benchmark_title: 'Words',
    model: 'm',
    agent: 'loop',
    kind: 'environment',
  }
  return { id, ...plain, state: 'finished', tags: [], group_id: null, created_at: id, primary: null, usage, ...more }
}

function row(index: number, more: object = {}) {
  const score = { name: 'solved', value: index / 10, missing: null, worst: false }
  const plain = { id: `e${index}`, index, run_id: 'r', task_id: `seed-${index}`, task_digest: `d${index}` }
  return { ...plain, state: 'completed', score: score.value, scores: [score], failure: null, usage, steps: 1, ...more }
}

function event(seq: number, step: number, kind = 'log', payload: unknown = null) {
  return { seq, step, at: 0, kind, payload }
}

const ids = (page: { items: { id: string }[] }) => page.items.map((item) => item.id)

describe('runs of a site', () => {
  const list = (query: object) => source.get('/api/runs', undefined, query)

  beforeEach(() => {
    files.runs = {
      items: [
        run('c', { model: 'small', primary: { value: 0.5 }, tags: ['a', 'b'] }),
        run('b', { model: 'large', tags: ['a'], name: 'Größe' }),
        run('a', { model: 'small', primary: { value: 0.9 }, state: 'failed' }),
      ],
    }
  })

  it('are sorted, with those that have no value last in both directions', async () => {
    expect(ids(await list({ sort: '-score' }))).toEqual(['a', 'c', 'b'])
    expect(ids(await list({ sort: 'score' }))).toEqual(['c', 'a', 'b'])
  })

  it('are filtered by any of several values, all tags, and all words', async () => {
    expect(ids(await list({ model: ['large', 'other'] }))).toEqual(['b'])
    expect(ids(await list({ state: ['failed', 'finished'], model: ['small'] }))).toEqual(['c', 'a'])
    expect(ids(await list({ tag: ['a', 'b'] }))).toEqual(['c'])
    expect(ids(await list({ q: 'GRÖSSE words' }))).toEqual([])
    expect(ids(await list({ q: 'größe WORDS' }))).toEqual(['b'])
  })

  it('come page by page', async () => {
    const first = await list({ limit: 2 })
    expect(ids(first)).toEqual(['c', 'b'])
    const second = await list({ limit: 2, cursor: first.cursor })
    expect([ids(second), second.cursor, second.total]).toEqual([['a'], null, 3])
  })

  it('are found by the beginning of their id, and are not there otherwise', async () => {
    files['runs/c/detail'] = { id: 'c' }
    expect(await source.get('/api/runs/{run_id}', { run_id: 'c' }, undefined)).toEqual({ id: 'c' })
    await expect(source.get('/api/runs/{run_id}', { run_id: 'x' }, undefined)).rejects.toThrow('This site has no run x')
  })
})

describe('episodes of a site', () => {
  const list = (query: object) => source.get('/api/runs/{run_id}/episodes', { run_id: 'r' }, query)

  beforeEach(() => {
    const worst = {
      score: null,
      scores: [{ name: 'solved', value: null, missing: null, worst: true }],
      state: 'failed',
    }
    const missing = { score: null, scores: [{ name: 'solved', value: null, missing: 'grader_error', worst: false }] }
    files['runs/r/detail'] = { info: { metrics: [{ name: 'rate', primary: true, threshold: 0.15 }] } }
    files['runs/r/series'] = { score: 'solved' }
    files['runs/r/episodes-0'] = { items: [row(0), row(1), row(2)], cursor: 'more' }
    const failure = { cause: 'malformed_action', message: 'No VALID action' }
    files['runs/r/episodes-1'] = { items: [row(3, { ...worst, failure }), row(4, missing)], cursor: null }
    files.runs = { items: [run('r')] }
    files['episodes/e2'] = { detail: row(2), windows: [0], events: [], pages: [0], steps: { items: [], last: 0 } }
  })

  it('are read from all their files', async () => {
    expect((await list({})).total).toBe(5)
    expect(ids(await list({ at: 3, limit: 2 }))).toEqual(['e3', 'e4'])
  })

  it.each([
    ['scored', ['e0', 'e1', 'e2']],
    ['worst', ['e3']],
    ['missing', ['e4']],
    ['pass', ['e2']],
    ['fail', ['e0', 'e1', 'e3']],
  ])('are chosen by outcome: %s', async (outcome, found) => {
    expect(ids(await list({ outcome }))).toEqual(found)
  })

  it('that their grader left out are skipped, not missing', async () => {
    const scores = [{ name: 'solved', value: null, missing: 'skipped', worst: false }]
    files['runs/r/episodes-1'] = { items: [row(3, { score: null, scores })], cursor: null }
    expect(ids(await list({ outcome: 'skipped' }))).toEqual(['e3'])
    expect(ids(await list({ outcome: 'missing' }))).toEqual([])
  })

  it('are chosen by score, cause, state and text', async () => {
    expect(ids(await list({ low: 0.1, high: 0.2 }))).toEqual(['e1', 'e2'])
    expect(ids(await list({ cause: ['malformed_action'] }))).toEqual(['e3'])
    expect(ids(await list({ state: ['failed'] }))).toEqual(['e3'])
    expect(ids(await list({ q: 'no valid' }))).toEqual(['e3'])
  })

  it('know their neighbours under a filter and an order', async () => {
    const ask = (query: object) =>
      source.get('/api/episodes/{episode_id}/neighbours', { episode_id: 'e2' }, query as never)
    expect(await ask({})).toEqual({ previous: 'e1', next: 'e3' })
    expect(await ask({ sort: '-score', outcome: 'scored' })).toEqual({ previous: null, next: 'e1' })
  })

  it('have their run with them', async () => {
    const found = await source.get('/api/episodes/{episode_id}', { episode_id: 'e2' }, undefined)
    expect([found.id, found.run.id]).toEqual(['e2', 'r'])
  })
})

describe('traces of a site', () => {
  const events = (query: object) => source.get('/api/episodes/{episode_id}/events', { episode_id: 'e' }, query)
  const said = (index: number, content: string) => ({ index, role: 'user', content })

  beforeEach(() => {
    const steps = (first: number) => ({
      items: [first, first + 1].map((step) => ({ step, first_event: step * 2 })),
      next: null,
      last: 3,
    })
    files['episodes/e'] = {
      detail: { events: 8 },
      windows: [0, 3, 6],
      events: [event(0, 0, 'message', said(0, 'one')), event(1, 0, 'message', said(1, 'two')), event(2, 1)],
      pages: [0, 2],
      steps: steps(0),
    }
    files['episodes/e-1'] = [
      event(3, 1, 'message', said(2, 'three')),
      event(4, 2, 'model_call', {
        model: 'm',
        messages: [
          [0, 0],
          [2, 2],
        ],
        text: 'yes',
        reasoning: 'why not',
      }),
      event(5, 2, 'error', { message: 'a "quoted"\nword' }),
    ]
    files['episodes/e-2'] = [event(6, 3), event(7, 3, 'message', said(3, 'later'))]
    files['episodes/e-steps-1'] = steps(2)
  })

  const seqs = (page: { items: { seq: number }[] }) => page.items.map(({ seq }) => seq)

  it('are read across files, and only those that are needed', async () => {
    const page = await events({ from: 2, limit: 3 })
    expect([seqs(page), page.next, page.total]).toEqual([[2, 3, 4], 5, 8])
    expect(asked).toEqual(['episodes/e', 'episodes/e-1'])
    expect((await events({ from: 6, limit: 10 })).next).toBeNull()
  })

  it('begin at a step', async () => {
    expect(seqs(await events({ step: 2, limit: 1 }))).toEqual([4])
    expect(seqs(await events({ step: 3, limit: 1 }))).toEqual([6])
    expect(await events({ step: 9 })).toEqual({ items: [], next: null, total: 8 })
  })

  it('are searched by kind and by what people see', async () => {
    expect(seqs(await events({ kind: ['error'] }))).toEqual([5])
    expect(seqs(await events({ q: 'A "QUOTED"\nword' }))).toEqual([5])
    const first = await events({ kind: ['message'], limit: 2 })
    expect([seqs(first), first.next]).toEqual([[0, 1], 2])
  })

  it('have an outline in pages', async () => {
    const page = await source.get('/api/episodes/{episode_id}/steps', { episode_id: 'e' }, { from: 1, limit: 2 })
    expect([page.items.map(({ step }) => step), page.next, page.last]).toEqual([[1, 2], 3, 3])
  })

  it('tell a model call with what was said before it', async () => {
    const call = await source.get('/api/episodes/{episode_id}/calls/{seq}', { episode_id: 'e', seq: 4 }, undefined)
    expect(call.messages.map(({ content }) => content)).toEqual(['one', 'three'])
    expect(call.reply).toEqual({ role: 'assistant', content: 'yes', reasoning: 'why not' })
    const none = source.get('/api/episodes/{episode_id}/calls/{seq}', { episode_id: 'e', seq: 5 }, undefined)
    await expect(none).rejects.toThrow('no model call at event 5')
  })

  it('are asked for again after a failure', async () => {
    delete files['episodes/e']
    await expect(events({})).rejects.toThrow()
    files['episodes/e'] = { detail: { events: 0 }, windows: [0], events: [], pages: [0], steps: { items: [], last: 0 } }
    expect((await events({})).total).toBe(0)
  })
})

describe('comparisons of a site', () => {
  const pair = (a: string, b: string, p_value: number) => ({ a, b, p_value, p_adjusted: p_value, winner: 'b' as const })
  const compared = (a: string, b: string, p: number) => ({
    runs: [run(a), run(b)],
    differences: [{ field: 'model', values: [a, b] }],
    benchmarks: [
      {
        benchmark: 'words',
        metric: 'rate',
        metrics: ['rate', 'guesses'],
        runs: [a, b],
        scores: [null, null],
        same_content: true,
        pairs: [pair(a, b, p)],
        note: '',
      },
    ],
  })

  beforeEach(() => {
    files.runs = { items: [run('a'), run('b'), run('c')] }
    files['compare/0-1'] = compared('a', 'b', 0.03)
    files['compare/0-2'] = compared('a', 'c', 0.04)
    files.compare = { metrics: ['guesses'] }
    files['compare/0-1-0'] = { ...compared('a', 'b', 0.5), differences: [] }
  })

  const compare = (...names: string[]) => source.get('/api/compare', undefined, { run: names })

  it('of two runs are a file', async () => {
    expect(await compare('a', 'b')).toEqual(files['compare/0-1'])
    const other = await source.get('/api/compare', undefined, { run: ['a', 'b'], metric: 'guesses' })
    expect(other).toEqual(files['compare/0-1-0'])
  })

  it('of more runs are put together, with their p values adjusted', async () => {
    const found = await compare('a', 'b', 'c')
    expect(found.runs.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
    expect(found.differences).toEqual([{ field: 'model', values: ['a', 'b', 'c'] }])
    expect(found.benchmarks[0]?.runs).toEqual(['a', 'b', 'c'])
    expect(found.benchmarks[0]?.pairs.map(({ p_adjusted, winner }) => [p_adjusted, winner])).toEqual([
      [0.06, 'tie'],
      [0.06, 'tie'],
    ])
  })

  it('adjust as Holm did', () => {
    const found = adjusted([pair('a', 'b', 0.04), pair('a', 'c', 0.001), pair('a', 'd', 0.03)] as never)
    expect(found.map((one) => Number(one.p_adjusted.toFixed(6)))).toEqual([0.06, 0.003, 0.06])
    expect(found.map((one) => one.winner)).toEqual(['tie', 'b', 'tie'])
  })

  it('are not there for runs of elsewhere', async () => {
    await expect(compare('a', 'x')).rejects.toThrow('This site has no run x')
  })
})

describe('file names', () => {
  it('are the id where it is a plain word, and its bytes otherwise', () => {
    expect(fileName('01a1fe25-8e78')).toBe('01a1fe25-8e78')
    expect(fileName('../Ä')).toBe('~2e2e2fc384')
  })
})
