/** An upload that a page makes: how far it is, and stopping it. */
import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useRef, useState } from 'react'
import type { Schema } from '../api/types'
import { type UploadProgress, type UploadRequest, upload } from './upload'

/** What is known of an upload; `stop` leaves on the server what it has, and the same file again continues. */
interface Uploading {
  progress: UploadProgress | undefined
  error: unknown
  start: (request: Omit<UploadRequest, 'onProgress' | 'signal'>) => void
  stop: () => void
}

/** Make uploads, one at a time; who leaves the page is asked before, and stops it. */
export function useUpload(after: (done: Schema<'DatasetUpload'>) => void): Uploading {
  const [progress, setProgress] = useState<UploadProgress>()
  const [error, setError] = useState<unknown>()
  const abort = useRef<AbortController>(undefined)
  const client = useQueryClient()
  const busy = progress !== undefined
  useEffect(() => () => abort.current?.abort(), [])
  useEffect(() => {
    if (!busy) return
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    window.addEventListener('beforeunload', ask)
    return () => window.removeEventListener('beforeunload', ask)
  }, [busy])
  const stop = useCallback(() => abort.current?.abort(), [])
  const start: Uploading['start'] = (request) => {
    const control = new AbortController()
    abort.current = control
    setError(undefined)
    setProgress({ stage: 'reading', done: 0, total: request.file.size, kept: 0 })
    upload({ ...request, onProgress: setProgress, signal: control.signal })
      .then(after, (failure: unknown) => {
        if (!control.signal.aborted) setError(failure)
      })
      .finally(() => {
        setProgress(undefined)
        void client.invalidateQueries()
      })
  }
  return { progress, error, start, stop }
}
