import { describe, expect, it } from 'vitest'
import { unrankedWords, versionWords } from './contents'

const version = (digest: string, runs: number) => ({ digest, runs, version: '1.0.0', first_run_at: '' })

describe('runs that the leaderboard leaves out', () => {
  it('are those on older content', () => {
    const all_versions = [version('new', 7), version('old', 2), version('oldest', 1)]
    expect(unrankedWords({ digest: 'new', all_versions })).toBe('3 runs on older content are not ranked')
    expect(unrankedWords({ digest: 'new', all_versions: [version('new', 7), version('old', 1)] })).toBe(
      '1 run on older content is not ranked',
    )
  })

  it('are not spoken of when there are none', () => {
    expect(unrankedWords({ digest: 'new', all_versions: [version('new', 7)] })).toBe('')
  })
})

describe('the version in the catalogue', () => {
  it('says that there are older contents', () => {
    expect(versionWords({ version: '1.0.0', versions: 3 })).toMatchObject({ text: '1.0.0', older: '+2 older' })
    expect(versionWords({ version: '1.0.0', versions: 3 }).title).toContain('2 older versions')
  })

  it('is only the version when there is one', () => {
    expect(versionWords({ version: '2.1', versions: 1 })).toMatchObject({ text: '2.1', older: '' })
  })
})
