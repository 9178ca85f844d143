import { useMemo } from 'react'
import { Marked } from './Marked'
import { PictureFigure } from './PictureFigure'
import { pictureOf, rasterName } from './picture'
import styles from './picture.module.css'

interface PictureViewProps {
  data: unknown
  type: string
  large?: boolean
  small?: boolean
}

/** An image that is part of the record. Nothing is loaded from elsewhere, and drawings cannot run anything. */
export function PictureView({ data, type, large, small }: PictureViewProps) {
  const picture = useMemo(() => pictureOf(data, type), [data, type])
  if (picture.kind === 'remote') {
    return (
      <p className={styles.note}>
        Image at{' '}
        <span className={styles.address}>
          <Marked text={picture.address} />
        </span>
        , not loaded: this page sends no requests to other servers.
      </p>
    )
  }
  if (picture.kind === 'none') return <p className={styles.note}>No image: {picture.reason}.</p>
  const kind = picture.kind === 'raster' ? rasterName(picture.type) : 'SVG'
  return (
    <PictureFigure
      key={picture.source}
      source={picture.source}
      kind={kind}
      bytes={picture.bytes}
      large={large}
      small={small}
    />
  )
}
