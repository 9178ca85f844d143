/** What the form for an environment holds, and what becomes of it. */
import type { Schema } from '../api/types'
import { shellWord } from '../launch/shell'

/** The fields as they were typed. */
export interface Submission {
  name: string
  description: string
  github_url: string
  ref: string
  folder: string
  team_id: string
}

/** Nothing typed yet. */
export const EMPTY: Submission = { name: '', description: '', github_url: '', ref: '', folder: '', team_id: '' }

/** What is sent. */
export function submissionBody(given: Submission): Schema<'EnvironmentInput'> {
  return {
    name: given.name.trim(),
    description: given.description.trim(),
    github_url: given.github_url.trim(),
    team_id: given.team_id || null,
    ref: given.ref.trim() || null,
    folder: given.folder.trim() || null,
  }
}

/** What is wrong before anything is sent, by field. */
export function submissionProblems(given: Submission): Partial<Submission> {
  const found: Partial<Submission> = {}
  const url = given.github_url.trim()
  if (url === '') found.github_url = 'Enter the URL of the repository.'
  else if (/^(git@|ssh:)/.test(url)) found.github_url = 'Use the https URL: ssh URLs need a key.'
  if (given.name.trim() === '') found.name = 'Enter a name.'
  if (given.folder.split('/').includes('..')) found.folder = 'The folder must be inside the repository.'
  return found
}

/** The command that submits the same. */
export function submitCommand(given: Submission): string {
  const words = [
    'mesocosm env submit',
    `--name ${shellWord(given.name.trim() || 'NAME')}`,
    `--github-url ${shellWord(given.github_url.trim() || 'URL')}`,
  ]
  if (given.description.trim()) words.push(`--description ${shellWord(given.description.trim())}`)
  if (given.ref.trim()) words.push(`--ref ${shellWord(given.ref.trim())}`)
  if (given.folder.trim()) words.push(`--folder ${shellWord(given.folder.trim())}`)
  if (given.team_id) words.push(`--team ${shellWord(given.team_id)}`)
  return words.join(' ')
}
