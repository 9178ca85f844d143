import { useCallback, useEffect, useRef, useState } from 'react'
import { readPiece } from './blob'

/** What has been read so far of large text. */
interface BlobText {
  text: string
  /** Bytes read. */
  read: number
  complete: boolean
  loading: boolean
  error: string | null
  /** Read further: as much again as there is already, or everything. */
  more: (all?: boolean) => void
}

const FIRST = 64 * 1024
const LARGEST = 8 * 1024 * 1024

/** Read the beginning of large text now and more of it when asked; `whole` reads all of it at once. */
export function useBlob(digest: string, bytes: number, whole = false): BlobText {
  const [state, setState] = useState({
    text: '',
    read: 0,
    complete: false,
    loading: true,
    error: null as string | null,
  })
  const decoder = useRef<TextDecoder | null>(null)
  const work = useRef<AbortController | null>(null)

  const read = useCallback(
    async (from: number, length: number) => {
      work.current?.abort()
      const mine = new AbortController()
      work.current = mine
      setState((now) => ({ ...now, loading: true, error: null }))
      try {
        const piece = await readPiece(digest, from, length, mine.signal)
        if (mine.signal.aborted) return
        decoder.current ??= new TextDecoder('utf-8', { ignoreBOM: true })
        const text = decoder.current.decode(piece.bytes, { stream: !piece.last })
        setState((now) => ({
          text: now.text + text,
          read: from + piece.bytes.length,
          complete: piece.last,
          loading: false,
          error: null,
        }))
      } catch (error) {
        if (mine.signal.aborted) return
        const message = error instanceof Error ? error.message : 'The content could not be loaded.'
        setState((now) => ({ ...now, loading: false, error: message }))
      }
    },
    [digest],
  )

  useEffect(() => {
    decoder.current = null
    setState({ text: '', read: 0, complete: false, loading: true, error: null })
    void read(0, whole ? Math.max(bytes + 1, FIRST) : FIRST)
    return () => work.current?.abort()
  }, [bytes, read, whole])

  const more = (all = false) => {
    if (state.loading || state.complete) return
    const rest = Math.max(bytes - state.read, 0) + 1
    void read(state.read, all ? Math.min(rest, 64 * LARGEST) : Math.min(Math.max(state.read, FIRST), rest, LARGEST))
  }
  return { ...state, more }
}
