/** What can go wrong between the page and the server. */
import { place } from '../place'

/** Where this app has a page for what a command shows. */
const PAGES: readonly (readonly [RegExp, string])[] = [
  [/`mesocosm env list`/g, 'the page “Environments”'],
  [/see `mesocosm env logs [^`]*`/g, 'its page under “Environments” shows why'],
  [/with `mesocosm env submit`/g, 'on the page “Environments”'],
  [/look at it with `mesocosm run watch [^`]*`/g, 'its page shows the progress'],
  [/`mesocosm run watch [^`]*`/g, "the run's page"],
  [/`mesocosm domain list`/g, 'the page “Leaderboards”'],
  [/`mesocosm team list`/g, 'the page “Teams”'],
  [/`mesocosm models`/g, 'the form of a new run'],
  [/with `mesocosm dataset upload FILE`/g, 'on the page “Datasets” of the workspace'],
  [/see `mesocosm dataset info [^`]*`/g, 'its page shows why'],
  [/`mesocosm admin user list`/g, '“Users” in the administration'],
]

/** Name the page in place of the command that shows the same. */
export function withPages(words: string): string {
  return PAGES.reduce((said, [command, page]) => said.replace(command, page), words)
}

/** An answer that is not the one that was asked for, or no answer at all (`status` 0, `code` "unreachable"). */
export class ApiError extends Error {
  override name = 'ApiError'

  constructor(
    readonly status: number,
    /** The stable code of the error, `not_found`. */
    readonly code: string,
    message: string,
    /** What is wrong with single fields of what was sent, by the path of the field: `config.num_episodes`. */
    readonly fields: Readonly<Record<string, string>> = {},
  ) {
    super(message)
  }

  /** Whether asking again may help. */
  get passing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500
  }
}

/**
 * Read an error document: problem details (RFC 9457) with a stable `code`, or the older `{"error", "detail"}`.
 * Anything else is described by its status.
 */
export async function errorOf(response: Response): Promise<ApiError> {
  const fallback = `The server answered ${response.status} ${response.statusText}`.trim()
  const { status } = response
  try {
    const found: unknown = await response.json()
    if (typeof found !== 'object' || found === null) return new ApiError(status, 'unknown', fallback)
    const document = found as ErrorDocument
    const code = document.code ?? document.error ?? 'unknown'
    const message = messageOf(document.detail) ?? document.title ?? fallback
    return new ApiError(status, code, place.mode === 'server' ? withPages(message) : message, fieldsOf(document))
  } catch {
    return new ApiError(status, 'unknown', fallback)
  }
}

/** Map each invalid field to its first problem: entries `{path, message}` of `problems`, or `{loc, msg}` of `detail`. */
function fieldsOf({ detail, problems = [] }: ErrorDocument): Record<string, string> {
  const found: Record<string, string> = {}
  for (const { path, message, loc, msg } of [...problems, ...(Array.isArray(detail) ? detail : [])]) {
    const field = loc?.slice(1).join('.') ?? path?.replace(/^(\$\.?|body\.)/, '')
    const words = msg ?? message
    if (field && words) found[field] ??= place.mode === 'server' ? withPages(told(words)) : told(words)
  }
  return found
}

function told(words: string): string {
  return words.replace(/^Value error, /, '')
}

interface ErrorDocument {
  code?: string
  error?: string
  title?: string
  detail?: string | Problem[] | { message: string } | null
  problems?: Problem[]
}

interface Problem {
  path?: string
  message?: string
  loc?: (string | number)[]
  msg?: string
}

function messageOf(detail: ErrorDocument['detail']): string | undefined {
  if (typeof detail === 'string') return detail || undefined
  if (Array.isArray(detail)) {
    const words = detail.map(({ loc, msg }) => msg && `${loc?.slice(1).join('.') || 'input'}: ${msg}`)
    return words.length > 0 && words.every(Boolean) ? words.join('; ') : undefined
  }
  return detail?.message
}
