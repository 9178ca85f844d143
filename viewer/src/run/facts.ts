/** The configuration and provenance of a run as readable facts. Keys that nobody foresaw are shown as they are named. */

import type { Schema } from '../api/types'
import { capitalized } from '../format'
import { shellWord } from '../launch/shell'

type RunDetail = Schema<'RunDetail'>
type Json = Schema<'JsonValue'>

/** One line of a definition list; `code` is shown in fixed width. */
export interface Fact {
  label: string
  value: string
  code?: boolean
}

/** Facts under a heading. */
export interface FactGroup {
  title: string
  facts: Fact[]
}

const LABELS: Record<string, string> = {
  headline: 'Numbers in the imported file',
  max_tokens: 'Maximum tokens per reply',
  timeout_s: 'Call timeout (s)',
  env_url: 'Environment URL',
  explicit_env_url: 'URL was given',
  step_timeout: 'Step timeout (s)',
  reask: 'Retries after a malformed action',
  structured: 'Structured replies',
  history: 'History in the prompt',
  episode_steps: 'Steps per episode',
  episode_seconds: 'Seconds per episode',
  episode_tokens: 'Tokens per episode',
  run_seconds: 'Seconds per run',
  run_tokens: 'Tokens per run',
  run_usd: 'US dollars per run',
  requests_per_minute: 'Requests per minute',
  tokens_per_minute: 'Tokens per minute',
  worked_s: 'Active time (s)',
  directory: 'Benchmark folder',
  unit: 'Score unit',
  cwd: 'Working directory',
  eliza_commit: 'Commit of the code under test',
  eliza_version: 'Version of the code under test',
  benchmarks_commit: 'Commit of the benchmark',
  mesocosm: 'mesocosm',
  python: 'Python',
}

/** Return everything that is known of how a run was made. */
export function runFacts(run: RunDetail): FactGroup[] {
  const spec = object(run.spec)
  const benchmark = object(spec.benchmark)
  const { name: _model, ...settings } = object(spec.model)
  const card = object(object(run.info).card)
  const groups: FactGroup[] = [
    {
      title: 'Benchmark',
      facts: [
        ...benchmarkFacts(run),
        ...listed({ source: benchmark.source ?? null }),
        ...listed(object(benchmark.options)),
      ],
    },
    { title: 'Framework', facts: frameworkFacts(card) },
    { title: 'Model', facts: [{ label: 'Model', value: run.model, code: true }, ...listed(settings)] },
    {
      title: 'Agent',
      facts: [{ label: 'Agent', value: run.agent, code: true }, ...listed(object(object(spec.agent).options))],
    },
    {
      title: 'Episodes',
      facts: [...selectionFacts(object(spec.selection)), ...listed({ parallel: spec.parallel ?? 1 })],
    },
    { title: 'Limits', facts: limitFacts(object(spec.limits)) },
    { title: 'Identity', facts: identityFacts(run) },
    { title: 'Benchmark command', facts: benchFacts(object(object(run.provenance).bench)) },
    { title: 'Provenance', facts: provenanceFacts(object(run.provenance)) },
  ]
  return groups.filter((group) => group.facts.length > 0)
}

/** Seeds as people write them: consecutive ones as a range, at most twelve ranges. */
export function seedWords(seeds: readonly number[]): string {
  const ranges: [number, number][] = []
  for (const seed of seeds) {
    const last = ranges.at(-1)
    if (last !== undefined && seed === last[1] + 1) last[1] = seed
    else ranges.push([seed, seed])
  }
  const shown = ranges.slice(0, 12).map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`))
  return shown.join(', ') + (ranges.length > 12 ? ', …' : '')
}

function benchmarkFacts(run: RunDetail): Fact[] {
  return [
    { label: 'Benchmark', value: run.benchmark, code: true },
    { label: 'Title', value: run.benchmark_title },
    { label: 'Version', value: run.benchmark_version },
    { label: 'Content', value: run.benchmark_digest, code: true },
    { label: 'Kind', value: run.kind },
  ].filter((fact) => fact.value !== '')
}

/** The framework that plays a benchmark of others, with the versions of its packages, and what it says of the licence. */
function frameworkFacts({ framework = null, packages, licence = null }: Record<string, Json>): Fact[] {
  const named = Object.entries(object(packages)).map(([name, version]) => `${name} ${text(version)}`)
  return listed({ framework, packages: named.join(', ') || null, licence: licence || null })
}

/** The name of the framework that plays a run, with the version of its first package; empty for our own benchmarks. */
export function frameworkName({ info }: RunDetail): string {
  const { framework, packages } = object(object(info).card)
  if (typeof framework !== 'string') return ''
  const version = Object.values(object(packages))[0]
  return typeof version === 'string' ? `${framework} ${version}` : framework
}

function identityFacts(run: RunDetail): Fact[] {
  const facts: Fact[] = [
    { label: 'Run', value: run.id, code: true },
    { label: 'Signature', value: run.signature, code: true },
    { label: 'Attempt', value: String(run.attempt) },
  ]
  if (run.group_id) facts.push({ label: 'Group', value: run.group_id, code: true })
  if (run.holder) facts.push({ label: 'Process', value: run.holder })
  return facts
}

function selectionFacts(selection: Record<string, Json>): Fact[] {
  const { seeds, count, trials, ...rest } = selection
  const facts: Fact[] = []
  if (Array.isArray(seeds))
    facts.push({ label: 'Seeds', value: seedWords(seeds.filter((seed) => typeof seed === 'number')) })
  else
    facts.push({ label: 'Tasks', value: typeof count === 'number' ? `the first ${count.toLocaleString('en')}` : 'all' })
  facts.push({ label: 'Trials per task', value: String(trials ?? 1) })
  return [...facts, ...listed(rest)]
}

function limitFacts(limits: Record<string, Json>): Fact[] {
  const facts = listed(limits)
  return facts.length > 0 ? facts : [{ label: 'Limits', value: 'none' }]
}

function provenanceFacts(provenance: Record<string, Json>): Fact[] {
  const { command, bench: _bench, ran_on, server, ...rest } = provenance
  const facts = [...listed(rest), ...serverFacts(object(server))]
  const places = Object.entries(object(ran_on)).map(
    ([place, count]) => `${place}: ${Number(count).toLocaleString('en')}`,
  )
  if (places.length > 0) facts.push({ label: 'Episodes played on', value: places.join(', ') })
  if (Array.isArray(command))
    facts.push({ label: 'Command', value: command.map((word) => shellWord(String(word))).join(' '), code: true })
  return facts
}

/** The server of the model: where it is, and what it called the model that answered. */
function serverFacts({ address, served, ...rest }: Record<string, Json>): Fact[] {
  const told = [
    { label: 'Server', value: text(address ?? ''), code: true },
    { label: 'Served model', value: text(served ?? ''), code: true },
    { label: 'Server details', value: Object.keys(rest).length > 0 ? text(rest) : '', code: true },
  ]
  return told.filter(({ value }) => value !== '')
}

/** What `mesocosm bench` settled: where the benchmark lies, whom it asked, every parameter as it was in effect. */
function benchFacts(bench: Record<string, Json>): Fact[] {
  const { extra, high_score: published, ...rest } = bench
  const facts = listed(rest)
  if (published) facts.push({ label: 'Published score', value: publishedWords(object(published)) })
  const parameters = Object.entries(object(extra)).map(([name, value]) => ({
    label: name,
    value: text(value),
    code: true,
  }))
  return [...facts, ...parameters]
}

function publishedWords({ label, value, source }: Record<string, Json>): string {
  return [label, value, source].filter((part) => part !== null && part !== undefined && part !== '').join(', ')
}

function listed(values: Record<string, Json>): Fact[] {
  return Object.entries(values)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([key, value]) => ({
      label: LABELS[key] ?? spelled(key),
      value: text(value),
      code: typeof value === 'object',
    }))
}

function spelled(key: string): string {
  const words = key.replaceAll('_', ' ')
  return capitalized(words)
}

function text(value: Json): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function object(value: unknown): Record<string, Json> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, Json>) : {}
}
