import { describe, expect, it } from 'vitest'
import { run } from './examples'
import { frameworkName, runFacts, seedWords } from './facts'

describe('runFacts', () => {
  it('shows settings that nobody foresaw', () => {
    const groups = runFacts(run({ spec: { model: { name: 'm', top_k: 40, stop: ['\n'] } } }))
    const model = groups.find(({ title }) => title === 'Model')?.facts
    expect(model).toContainEqual({ label: 'Top k', value: '40', code: false })
    expect(model).toContainEqual({ label: 'Stop', value: '["\\n"]', code: true })
  })

  it('survives a specification of any shape', () => {
    expect(() =>
      runFacts(run({ spec: { benchmark: 3, model: [], limits: 'x' }, provenance: { command: 'x' } })),
    ).not.toThrow()
  })

  it('counts the episodes of each machine', () => {
    const facts = runFacts(run({ provenance: { ran_on: { 'node-1': 1200, 'node-2': 3 } } })).flatMap(
      ({ facts }) => facts,
    )
    expect(facts).toContainEqual({ label: 'Episodes played on', value: 'node-1: 1,200, node-2: 3' })
  })

  it('names the framework of a benchmark of others, with the versions of its packages and the licence', () => {
    const card = { framework: 'Gymnasium', packages: { gymnasium: '1.4.0', numpy: '2.4.6' }, licence: 'MIT' }
    const found = runFacts(run({ info: { card } })).find(({ title }) => title === 'Framework')
    expect(found?.facts.map(({ label, value }) => [label, value])).toEqual([
      ['Framework', 'Gymnasium'],
      ['Packages', 'gymnasium 1.4.0, numpy 2.4.6'],
      ['Licence', 'MIT'],
    ])
    expect(frameworkName(run({ info: { card } }))).toBe('Gymnasium 1.4.0')
    expect(frameworkName(run({ info: {} }))).toBe('')
  })

  it('tells where the server of the model is as words', () => {
    const server = { address: 'http://127.0.0.1:8000/v1', served: 'tiny', models: '6fdb' }
    const facts = runFacts(run({ provenance: { server } })).flatMap((group) => group.facts)
    expect(facts).toContainEqual({ label: 'Server', value: 'http://127.0.0.1:8000/v1', code: true })
    expect(facts).toContainEqual({ label: 'Served model', value: 'tiny', code: true })
  })

  it('says that there are no limits', () => {
    const limits = runFacts(run()).find(({ title }) => title === 'Limits')
    expect(limits?.facts[0]?.value).toBe('none')
  })
})

describe('words', () => {
  it('write seeds in a row as a range', () => {
    expect(seedWords([0, 1, 2, 7])).toBe('0–2, 7')
    expect(seedWords(Array.from({ length: 20 }, (_, index) => index * 2))).toMatch(/22, …$/)
  })

  it('quote what a shell would read otherwise', () => {
    const [command] = runFacts(run({ provenance: { command: ['mesocosm', '--name', "it's a run", 'a/b:1'] } }))
      .flatMap(({ facts }) => facts)
      .filter(({ label }) => label === 'Command')
    expect(command?.value).toBe("mesocosm --name 'it'\\''s a run' a/b:1")
  })
})
