import { useMemo, useState } from 'react'
import { bytes } from '../format'
import { Marked } from './Marked'
import { pictureOf } from './picture'
import styles from './picture.module.css'

export interface PictureViewProps {
  data: unknown
  type: string
  large?: boolean
  small?: boolean
}

/** An image that is part of the record. Nothing is loaded from elsewhere, and drawings cannot run anything. */
export function PictureView({ data, type, large = false, small = false }: PictureViewProps) {
  const picture = useMemo(() => pictureOf(data, type), [data, type])
  const [size, setSize] = useState('')
  const [broken, setBroken] = useState(false)
  if (picture.kind === 'remote') {
    return (
      <p className={styles.note}>
        Image at{' '}
        <span className={styles.address}>
          <Marked text={picture.address} />
        </span>
        , not loaded: pages here ask nobody else.
      </p>
    )
  }
  if (picture.kind === 'none' || broken) {
    return <p className={styles.note}>No image: {picture.kind === 'none' ? picture.reason : 'it is damaged'}.</p>
  }
  const kind = picture.kind === 'raster' ? picture.type.replace('image/', '').toUpperCase() : 'SVG'
  const look = large ? styles.large : small ? styles.small : styles.normal
  return (
    <figure className={styles.figure}>
      <img
        className={`${styles.image} ${look}`}
        src={picture.source}
        alt={`${kind} of the record${size && `, ${size} pixels`}`}
        title={small ? `${kind} ${size}` : undefined}
        decoding="async"
        onLoad={(event) => setSize(`${event.currentTarget.naturalWidth} × ${event.currentTarget.naturalHeight}`)}
        onError={() => setBroken(true)}
      />
      {!small && (
        <figcaption className={styles.note}>
          {kind} {size} {bytes(Math.round(picture.bytes))}
        </figcaption>
      )}
    </figure>
  )
}
