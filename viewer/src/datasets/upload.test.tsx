import { afterEach, expect, test, vi } from 'vitest'
import { type UploadProgress, upload } from './upload'

const PART = 4
const TEXT = 'abcdefghij'

/** A server that keeps parts; the first `lost` requests for a part get no answer. */
function serve({ present = [] as number[], status = 'uploading', lost = 0, refused = 0 } = {}) {
  const asked: string[] = []
  const parts = new Map<string, string>()
  let failures = lost
  vi.stubGlobal('fetch', async (target: string, { method, body }: RequestInit) => {
    const url = new URL(target)
    asked.push(`${method} ${url.pathname}`)
    if (method === 'PUT') {
      if (failures-- > 0) throw new TypeError('connection lost')
      if (refused) return Response.json({ detail: 'no', code: 'conflict' }, { status: refused })
      parts.set(url.pathname.split('/').at(-1) ?? '', await (body as Blob).text())
      return Response.json({})
    }
    const document = { id: 'd1', name: 'n', version: 3, status, part_size: PART, part_count: 3, present }
    return Response.json(url.pathname.endsWith('/complete') ? { ...document, status: 'processing' } : document)
  })
  return { asked, parts }
}

function request(more: object = {}) {
  const seen: UploadProgress[] = []
  const file = new File([TEXT], 'n.jsonl')
  const signal = new AbortController().signal
  const onProgress = (progress: UploadProgress) => seen.push(progress)
  return { seen, given: { workspace: 'w', file, name: 'n', overwrite: false, onProgress, signal, waits: [0], ...more } }
}

afterEach(() => vi.unstubAllGlobals())

test('a file is sent in parts and completed', async () => {
  const { parts, asked } = serve()
  const { seen, given } = request()
  expect((await upload(given)).status).toBe('processing')
  expect([...parts.values()]).toEqual(['abcd', 'efgh', 'ij'])
  expect(asked.at(-1)).toBe('POST /api/workspaces/w/datasets/d1/versions/3/complete')
  expect(seen.at(-1)).toEqual({ stage: 'sending', done: 10, total: 10, kept: 0 })
})

test('what the server has is not sent again', async () => {
  const { parts } = serve({ present: [1, 3] })
  const { seen, given } = request()
  await upload(given)
  expect([...parts]).toEqual([['2', 'efgh']])
  expect(seen.find(({ stage }) => stage === 'sending')).toEqual({ stage: 'sending', done: 6, total: 10, kept: 6 })
})

test('a version that is there already is not sent at all', async () => {
  const { asked } = serve({ status: 'uploaded' })
  expect((await upload(request().given)).status).toBe('uploaded')
  expect(asked).toEqual(['POST /api/workspaces/w/datasets'])
})

test('a part is sent again after a lost connection', async () => {
  const { parts } = serve({ lost: 1 })
  await upload(request().given)
  expect(parts.size).toBe(3)
})

test('a connection that stays lost ends it', async () => {
  serve({ lost: 9 })
  await expect(upload(request().given)).rejects.toThrow('not responding')
})

test('a refusal ends it at once', async () => {
  const { asked } = serve({ refused: 409 })
  await expect(upload(request().given)).rejects.toThrow('no')
  expect(asked.filter((one) => one.startsWith('PUT'))).toHaveLength(1)
})

test('nothing is sent once it was stopped', async () => {
  const { asked } = serve()
  const control = new AbortController()
  control.abort()
  await expect(upload(request({ signal: control.signal }).given)).rejects.toThrow()
  expect(asked).toEqual([])
})
