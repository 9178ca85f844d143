/** Addresses of repositories, and of their commits at the Git host. */
import type { Schema } from '../api/types'

type Repository = Schema<'RepositoryDocument'>

/** Whether an address is read over SSH, as git writes it: `ssh://git@host/path` or `git@host:path`. */
export function isSsh(url: string): boolean {
  return /^ssh:\/\//i.test(url.trim()) || /^[^/@:\s]+@[^/:\s]+:/.test(url.trim())
}

/** Where people look at a repository; empty for one that has no web address. */
export function webAddress({ url, identity }: Pick<Repository, 'url' | 'identity'>): string {
  if (/^https:\/\//.test(url)) return url
  return isSsh(url) ? `https://${identity}` : ''
}

/** Where people look at a commit; empty where the host has no page that is known. */
export function commitAddress(repository: Pick<Repository, 'url' | 'identity'>, commit: string): string {
  const web = webAddress(repository)
  if (!web || !commit) return ''
  const host = new URL(web).hostname
  if (host === 'bitbucket.org') return `${web}/commits/${commit}`
  return host.split('.').includes('gitlab') ? `${web}/-/commit/${commit}` : `${web}/commit/${commit}`
}

/** The address of a webhook in full; the server leaves its own out where it does not know it. */
export function hookAddress(url: string, origin: string): string {
  return url.startsWith('/') ? `${origin}${url}` : url
}

/** An error of a sync, with the page in place of the command that does the same. */
export function withCredentialForm(error: string): string {
  return error.replace(/: mesocosm workspace credentials( --?[a-z-]+| FILE)*/, ' on the page of the repository')
}
