/** One exchange with a server that speaks JSON. */
import { noteReachable } from './connection'
import { ApiError, errorOf } from './error'

/**
 * Send a request and return the JSON of its answer (nothing for 204); throws `ApiError`, or the abort's own error.
 * A `Blob` is sent as it is, any other body as JSON.
 */
export async function send(method: string, address: string, body?: unknown, signal?: AbortSignal): Promise<unknown> {
  const headers: Record<string, string> = { accept: 'application/json' }
  const raw = body instanceof Blob
  if (body !== undefined) headers['content-type'] = raw ? 'application/octet-stream' : 'application/json'
  // No form of a foreign page can send this; the server refuses changes without it.
  if (method !== 'GET') headers['x-mesocosm'] = '1'
  let response: Response
  try {
    response = await fetch(address, {
      method,
      headers,
      signal,
      body: body === undefined || raw ? body : JSON.stringify(body),
    })
  } catch (error) {
    if (signal?.aborted) throw error
    noteReachable(false)
    throw new ApiError(0, 'unreachable', 'The server is not responding.')
  }
  noteReachable(true)
  if (!response.ok) throw await errorOf(response)
  return response.status === 204 ? undefined : await parsed(response)
}

async function parsed(response: Response): Promise<unknown> {
  try {
    return await response.json()
  } catch (error) {
    if (error instanceof SyntaxError)
      throw new ApiError(response.status, 'unreadable', 'The response is not valid JSON.')
    throw error
  }
}
