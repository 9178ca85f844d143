/** What can go wrong between the page and the server. */
import { place } from '../place'
import { pageWords } from './pageWords'

/** An answer that is not the one that was asked for, or no answer at all (`status` 0, `kind` "unreachable"). */
export class ApiError extends Error {
  override name = 'ApiError'

  constructor(
    readonly status: number,
    readonly kind: string,
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

/** Read the server's error document `{"error": kind, "detail": text}`; anything else is described by its status. */
export async function errorOf(response: Response): Promise<ApiError> {
  const fallback = `The server answered ${response.status} ${response.statusText}`.trim()
  try {
    const document: unknown = await response.json()
    if (typeof document !== 'object' || document === null) return new ApiError(response.status, 'unknown', fallback)
    const kind = 'error' in document && typeof document.error === 'string' ? document.error : 'unknown'
    const words = ('detail' in document ? told(document.detail) : undefined) ?? fallback
    return new ApiError(response.status, kind, place.mode === 'platform' ? pageWords(words) : words, fieldsOf(document))
  } catch {
    return new ApiError(response.status, 'unknown', fallback)
  }
}

/** Read what is wrong with single fields: entries `{loc, msg}` of `detail`, or `{path, message}` of `problems`. */
function fieldsOf(document: object): Record<string, string> {
  const found: Record<string, string> = {}
  const listed = 'detail' in document && Array.isArray(document.detail) ? document.detail : []
  const named = 'problems' in document && Array.isArray(document.problems) ? document.problems : []
  for (const problem of [...listed, ...named] as Problem[]) {
    const place = problem.loc?.slice(1).join('.') ?? problem.path?.replace(/^\$?\.?/, '')
    const words = problem.msg ?? problem.message
    if (place && words) found[place] ??= words.replace(/^Value error, /, '')
  }
  return found
}

interface Problem {
  loc?: (string | number)[]
  msg?: string
  path?: string
  message?: string
}

function told(detail: unknown): string | undefined {
  if (typeof detail === 'string' && detail !== '') return detail
  if (Array.isArray(detail) && detail.length > 0) {
    const words = (detail as Problem[]).map(({ loc, msg }) => msg && `${loc?.slice(1).join('.') || 'input'}: ${msg}`)
    if (words.every(Boolean)) return words.join('; ')
  }
  if (typeof detail === 'object' && detail !== null && 'message' in detail) return told(detail.message)
  return detail === undefined || detail === null ? undefined : JSON.stringify(detail)
}
