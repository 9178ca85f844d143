import { describe, expect, it } from 'vitest'
import { commitAddress, hookAddress, isSsh, webAddress, withCredentialForm } from './places'

describe('addresses of repositories', () => {
  it.each([
    ['ssh://git@git.example/a/b', true],
    ['git@github.com:you/evals.git', true],
    [' SSH://git.example/a/b', true],
    ['https://github.com/you/evals', false],
    ['https://you:word@git.example/a', false],
    ['/srv/evals.git', false],
    ['', false],
  ])('%s', (url, ssh) => {
    expect(isSsh(url)).toBe(ssh)
  })

  it('leads to the pages of hosts', () => {
    const at = (url: string, identity: string) => commitAddress({ url, identity }, 'abc')
    expect(at('https://github.com/a/b', 'github.com/a/b')).toBe('https://github.com/a/b/commit/abc')
    expect(at('ssh://git@gitlab.com/a/b', 'gitlab.com/a/b')).toBe('https://gitlab.com/a/b/-/commit/abc')
    expect(at('https://bitbucket.org/a/b', 'bitbucket.org/a/b')).toBe('https://bitbucket.org/a/b/commits/abc')
    expect(at('/srv/b', 'local/srv/b')).toBe('')
    expect(commitAddress({ url: 'https://github.com/a/b', identity: '' }, '')).toBe('')
    expect(webAddress({ url: '/srv/b', identity: 'local/srv/b' })).toBe('')
  })

  it('completes the address of a webhook', () => {
    expect(hookAddress('/api/hooks/git/1', 'https://bench.example')).toBe('https://bench.example/api/hooks/git/1')
    expect(hookAddress('https://other.example/api/hooks/git/1', 'https://bench.example')).toBe(
      'https://other.example/api/hooks/git/1',
    )
  })

  it('names the page instead of the command', () => {
    expect(withCredentialForm('set another token: mesocosm workspace credentials --token-stdin')).toBe(
      'set another token on the page of the repository',
    )
    expect(
      withCredentialForm('set it again: mesocosm workspace credentials --deploy-key FILE --known-hosts FILE'),
    ).toBe('set it again on the page of the repository')
    expect(withCredentialForm('it has no branch')).toBe('it has no branch')
  })
})
