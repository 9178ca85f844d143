import { useMemo } from 'react'
import { FieldsView } from './FieldsView'
import styles from './layout.module.css'
import { PictureView } from './PictureView'
import { isFlat, sceneOf } from './scene'

/** An object with its pictures first, then the legal actions and what else it says. */
export function SceneView({ data, large, highlight }: { data: unknown; large?: boolean; highlight?: string }) {
  const scene = useMemo(() => sceneOf(data), [data])
  if (scene === null) return isFlat(data) ? <FieldsView fields={data} legal={null} highlight={highlight} /> : null
  return (
    <div className={styles.stack}>
      {scene.pictures.map(({ name, data: picture }) => (
        <PictureView key={name} data={picture} type="" large={large} />
      ))}
      <FieldsView fields={scene.rest} legal={scene.legal} highlight={highlight} />
    </div>
  )
}
