import { useEffect, useState } from 'react'
import { bytes } from '../format'
import { readPiece } from './blob'
import type { Reference } from './content'
import styles from './layout.module.css'
import { PictureFigure } from './PictureFigure'
import { PictureView } from './PictureView'
import { rasterName, rasterType } from './picture'

const LARGEST = 64 * 1024 * 1024

interface ReferredPictureProps {
  reference: Reference
  type: string
  large?: boolean
}

/** A large image that was recorded by reference. What the server sends may be the image itself, or text that holds it. */
export function ReferredPicture({ reference, type, large }: ReferredPictureProps) {
  const [found, setFound] = useState<{
    data?: string
    picture?: { source: string; kind: string; bytes: number }
    error?: string
  }>({})
  const { digest } = reference
  useEffect(() => {
    const work = new AbortController()
    let url = ''
    setFound({})
    readPiece(digest, 0, LARGEST, work.signal)
      .then(({ bytes: content }) => {
        if (work.signal.aborted) return
        const raster = rasterType(content)
        if (!raster) return setFound({ data: new TextDecoder().decode(content) })
        url = URL.createObjectURL(new Blob([content], { type: raster }))
        setFound({ picture: { source: url, kind: rasterName(raster), bytes: content.length } })
      })
      .catch((error: unknown) => {
        if (!work.signal.aborted) setFound({ error: error instanceof Error ? error.message : String(error) })
      })
    return () => {
      work.abort()
      if (url) URL.revokeObjectURL(url)
    }
  }, [digest])
  if (found.error) return <p className={styles.problem}>{found.error}</p>
  if (found.picture) return <PictureFigure {...found.picture} large={large} />
  if (found.data !== undefined) return <PictureView data={found.data} type={type} large={large} />
  return <p className={styles.note}>Loading {bytes(reference.bytes)}…</p>
}
