import { describe, expect, it } from 'vitest'
import type { Schema } from '../api/types'
import { faultsOf, fileName, originWords, rolloutsOf, secretsOf } from './code'

type Code = Schema<'CodeDocument'>

function code(given: Partial<Code> & { names: string[] }): Code {
  const { names, ...rest } = given
  const rollouts = names.map((name) => ({ name, entrypoints: ['main.py'], requirements: [], requires_python: '' }))
  const configurations = names.map((rollout) => ({ path: `configs/eval/${rollout}.toml`, rollout, valid: true }))
  return {
    kind: 'commit',
    branch: 'main',
    commit: 'c90d3e4aaaa',
    dirty: false,
    rollouts,
    configurations,
    ...rest,
  } as Code
}

describe('rolloutsOf', () => {
  it('takes each rollout from the first code that has it', () => {
    const found = rolloutsOf([code({ names: ['b', 'a'] }), code({ names: ['a', 'c'], branch: 'try' })])
    expect(found.map(({ name, code: { branch } }) => [name, branch])).toEqual([
      ['a', 'main'],
      ['b', 'main'],
      ['c', 'try'],
    ])
    expect(found[0]?.configurations.map(({ path }) => path)).toEqual(['configs/eval/a.toml'])
  })
})

describe('words', () => {
  it('says where code comes from', () => {
    expect(originWords(code({ names: [] }))).toBe('main, c90d3e4')
    expect(originWords(code({ names: [], kind: 'upload', dirty: true }))).toBe('an upload of c90d3e4 with changes')
    expect(originWords(code({ names: [], kind: 'upload', commit: '' }))).toBe('an upload')
  })

  it('shortens only the usual folder', () => {
    expect([fileName('configs/eval/a/b.toml'), fileName('other/a.toml')]).toEqual(['a/b.toml', 'other/a.toml'])
  })

  it('names each secret once', () => {
    const configurations = [{ secrets: ['B', 'A'] }, { secrets: ['A'] }] as Code['configurations']
    expect(secretsOf(configurations)).toEqual(['A', 'B'])
  })
})

describe('faultsOf', () => {
  it('keeps what concerns the rollout, and not one whose name begins alike', () => {
    const paths = ['rollouts/sums', 'rollouts/sums/pyproject.toml', 'rollouts/sums2/x.py', 'configs/eval/a.toml', '']
    const found = faultsOf(
      paths.map((path) => ({ path })),
      'sums',
      [{ path: 'configs/eval/a.toml' }],
    )
    expect(found.map(({ path }) => path)).toEqual([
      'rollouts/sums',
      'rollouts/sums/pyproject.toml',
      'configs/eval/a.toml',
    ])
  })
})
