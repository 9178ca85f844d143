import { afterEach, expect, it, vi } from 'vitest'
import { address, fillPath, writeQuery } from './address'
import { get, patch } from './client'
import { ApiError } from './error'

function answer(body: string, status = 200) {
  const fetched = vi.fn(async (_address: string, _init?: RequestInit) => new Response(body, { status }))
  vi.stubGlobal('fetch', fetched)
  return fetched
}

afterEach(() => {
  vi.unstubAllGlobals()
  document.head.replaceChildren()
})

it('fills parameters into paths and repeats the key of lists', () => {
  expect(fillPath('/api/runs/{run_id}', { run_id: 'a/b c' })).toBe('/api/runs/a%2Fb%20c')
  expect(writeQuery({ state: ['failed', 'running'], q: 'x', none: undefined })).toBe('?state=failed&state=running&q=x')
  expect(() => fillPath('/api/runs/{run_id}')).toThrow('needs run_id')
})

it('asks below the base of the page', () => {
  const base = document.createElement('base')
  base.href = 'http://127.0.0.1:8877/results/'
  document.head.append(base)
  expect(address('/api/runs', {}, { limit: 5 })).toBe('http://127.0.0.1:8877/results/api/runs?limit=5')
})

it('returns the document', async () => {
  const fetched = answer('{"id": "r1"}')
  expect(await get('/api/runs/{run_id}', { params: { run_id: 'r1' } })).toEqual({ id: 'r1' })
  expect(fetched.mock.calls[0]?.[0]).toMatch(/\/api\/runs\/r1$/)
})

it('sends JSON', async () => {
  const fetched = answer('{"id": "r1"}')
  await patch('/api/runs/{run_id}', { params: { run_id: 'r1' }, body: { tags: ['a'] } })
  expect(fetched.mock.calls[0]?.[1]).toMatchObject({ method: 'PATCH', body: '{"tags":["a"]}' })
})

it.each([
  ['{"error": "not_found", "detail": "There is no run r1."}', 404, 'not_found', 'There is no run r1.'],
  ['<html>proxy</html>', 502, 'unknown', 'The server answered 502'],
  ['{"detail": [{"msg": "bad"}]}', 422, 'unknown', 'input: bad'],
  ['{', 200, 'unreadable', 'The response is not valid JSON.'],
])('turns the answer %s into an error', async (body, status, code, message) => {
  answer(body, status)
  const failure = await get('/api/runs').catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(ApiError)
  expect(failure).toMatchObject({ status, code, message })
})

it('says so when the server is gone, and can be told to give up', async () => {
  vi.stubGlobal('fetch', vi.fn().mockRejectedValue(new TypeError('failed to fetch')))
  await expect(get('/api/runs')).rejects.toMatchObject({ status: 0, code: 'unreachable', passing: true })
  const signal = AbortSignal.abort()
  await expect(get('/api/runs', { signal })).rejects.not.toBeInstanceOf(ApiError)
})
