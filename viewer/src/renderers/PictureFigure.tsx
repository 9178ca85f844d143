import { useState } from 'react'
import { bytes as sizeText } from '../format'
import styles from './picture.module.css'

interface PictureFigureProps {
  /** A data address, or one of bytes that this page holds. */
  source: string
  /** PNG, SVG, … */
  kind: string
  bytes: number
  large?: boolean
  small?: boolean
}

/** An image with what it is and how large. */
export function PictureFigure({ source, kind, bytes, large = false, small = false }: PictureFigureProps) {
  const [size, setSize] = useState('')
  const [broken, setBroken] = useState(false)
  if (broken) return <p className={styles.note}>Image damaged.</p>
  const look = large ? styles.large : small ? styles.small : styles.normal
  return (
    <figure className={styles.figure}>
      <img
        className={`${styles.image} ${look}`}
        src={source}
        alt={`${kind} of the episode${size && `, ${size} pixels`}`}
        data-tip={small ? `${kind} ${size}` : undefined}
        decoding="async"
        onLoad={(event) => setSize(`${event.currentTarget.naturalWidth} × ${event.currentTarget.naturalHeight}`)}
        onError={() => setBroken(true)}
      />
      {!small && (
        <figcaption className={styles.note}>
          {kind} {size} {sizeText(Math.round(bytes))}
        </figcaption>
      )}
    </figure>
  )
}
