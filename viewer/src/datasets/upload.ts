/** Uploading a file as a dataset: its digest, the parts that the server lacks, and the end, after which it is checked. */
import { address } from '../api/address'
import { post } from '../api/client'
import { ApiError } from '../api/error'
import { send } from '../api/send'
import type { Schema } from '../api/types'
import { Sha256 } from './sha256'

/** Bytes that are digested before the page may draw again. */
const PIECE = 1 << 20
/** Milliseconds before a part is sent again after its connection was lost. */
const WAITS = [1_000, 2_000, 4_000, 8_000, 16_000] as const

/** How far an upload is, in bytes; `kept` were there before it began. */
export interface UploadProgress {
  stage: 'reading' | 'sending'
  done: number
  total: number
  kept: number
}

/** What is uploaded where, and who wants to hear of it. */
export interface UploadRequest {
  workspace: string
  file: File
  name: string
  overwrite: boolean
  columns?: Schema<'DatasetColumns'>
  onProgress: (progress: UploadProgress) => void
  signal: AbortSignal
  /** Milliseconds to wait before each further try. */
  waits?: readonly number[]
}

/** Upload a file; what the server has of it is not sent. Throws `ApiError`, or the abort's own error. */
export async function upload(request: UploadRequest): Promise<Schema<'DatasetUpload'>> {
  const { workspace, file, name, overwrite, columns, onProgress, signal, waits = WAITS } = request
  const total = file.size
  const digest = await digestOf(file, signal, (done) => onProgress({ stage: 'reading', done, total, kept: 0 }))
  const body = { file_name: file.name, name, size: total, digest, overwrite, columns: columns ?? {} }
  const begun = await post('/api/workspaces/{workspace}/datasets', { params: { workspace }, body, signal })
  if (begun.status !== 'uploading') return begun
  const params = { workspace, dataset: begun.id, number: begun.version }
  const sizeOf = (part: number) => Math.min(begun.part_size, total - (part - 1) * begun.part_size)
  const present = new Set(begun.present)
  const kept = begun.present.reduce((sum, part) => sum + sizeOf(part), 0)
  let done = kept
  onProgress({ stage: 'sending', done, total, kept })
  for (let part = 1; part <= begun.part_count; part += 1) {
    if (present.has(part)) continue
    const start = (part - 1) * begun.part_size
    const data = await bytesOf(file, start, start + sizeOf(part))
    const path = '/api/workspaces/{workspace}/datasets/{dataset}/versions/{number}/parts/{part}'
    const target = address(path, { ...params, part }, { digest: new Sha256().add(data).hex() })
    await persistently(() => send('PUT', target, new Blob([data]), signal), waits, signal)
    done += data.length
    onProgress({ stage: 'sending', done, total, kept })
  }
  const complete = '/api/workspaces/{workspace}/datasets/{dataset}/versions/{number}/complete'
  return await persistently(() => post(complete, { params, signal }), waits, signal)
}

async function digestOf(file: File, signal: AbortSignal, onPiece: (done: number) => void): Promise<string> {
  const digest = new Sha256()
  for (let at = 0; at < file.size; at += PIECE) {
    signal.throwIfAborted()
    const end = Math.min(at + PIECE, file.size)
    digest.add(await bytesOf(file, at, end))
    onPiece(end)
  }
  return digest.hex()
}

async function bytesOf(file: File, start: number, end: number): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return new Uint8Array(await file.slice(start, end).arrayBuffer())
  } catch {
    throw new Error(`${file.name} changed or was moved while it was read. Choose it again.`)
  }
}

/** Try again where that may help; the last failure is thrown. */
async function persistently<Answer>(
  act: () => Promise<Answer>,
  waits: readonly number[],
  signal: AbortSignal,
): Promise<Answer> {
  for (const wait of waits) {
    try {
      return await act()
    } catch (error) {
      if (!(error instanceof ApiError && error.passing)) throw error
      await new Promise((resolve) => setTimeout(resolve, wait))
      signal.throwIfAborted()
    }
  }
  return await act()
}
