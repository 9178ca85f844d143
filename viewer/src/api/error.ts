/** What can go wrong between the page and the server. */

/** An answer that is not the one that was asked for, or no answer at all (`status` 0, `kind` "unreachable"). */
export class ApiError extends Error {
  override name = 'ApiError'

  constructor(
    readonly status: number,
    readonly kind: string,
    message: string,
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
    const detail = 'detail' in document ? told(document.detail) : undefined
    return new ApiError(response.status, kind, detail ?? fallback)
  } catch {
    return new ApiError(response.status, 'unknown', fallback)
  }
}

function told(detail: unknown): string | undefined {
  if (typeof detail === 'string' && detail !== '') return detail
  return detail === undefined || detail === null ? undefined : JSON.stringify(detail)
}
