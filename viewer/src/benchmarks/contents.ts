/** A benchmark changes its content over time; scores of different contents do not belong into one ranking. */
import type { Schema } from '../api/types'
import { count, plural } from '../format'

type Detail = Schema<'BenchmarkDetail'>

/** Runs on older content than that of the leaderboard, in words; empty when there are none. */
export function unrankedWords({ all_versions, digest }: Pick<Detail, 'all_versions' | 'digest'>): string {
  const older = all_versions.filter((version) => version.digest !== digest)
  const runs = older.reduce((sum, version) => sum + version.runs, 0)
  if (runs === 0) return ''
  return `${plural(runs, 'run')} on older content ${runs === 1 ? 'is' : 'are'} not ranked`
}

/** The version in a list, and what it means when there have been several contents. */
export function versionWords({ version, versions }: Pick<Schema<'BenchmarkSummary'>, 'version' | 'versions'>): {
  text: string
  older: string
  title: string
} {
  const older = versions - 1
  if (versions === 0) return { text: version, older: '', title: 'Never run' }
  if (older < 1) return { text: version, older: '', title: 'All runs used the same content' }
  return {
    text: version,
    older: `+${count(older)} older`,
    title:
      `Version ${version} is the latest content; there are also runs on ${plural(older, 'older version')}. ` +
      'Best score and leaderboard use the latest.',
  }
}
