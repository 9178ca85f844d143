import { useMemo, useState } from 'react'
import { CopyButton } from '../parts/CopyButton'
import { type NamedView, referenceOf, textOf, VIEW_NAMES, type View, viewsOf } from './content'
import { Guarded } from './Guarded'
import styles from './layout.module.css'
import { Referred } from './Referred'
import { RENDERERS } from './registry'

export interface ContentViewProps {
  data: unknown
  /** Media type as recorded; empty where none was. */
  type: string
  /** The content of the same kind one step before, to show what changed. */
  before?: unknown
  highlight?: string
  /** In the player: as big as it gets. */
  large?: boolean
  /** The view that the benchmark names for its observations. */
  named?: NamedView | null
}

/** Any recorded content in the form that shows it best, with the other forms one click away. */
export function ContentView(props: ContentViewProps) {
  const { data, type } = props
  const reference = useMemo(() => referenceOf(data), [data])
  if (reference) return <Referred {...props} reference={reference} />
  return <Direct key={type} {...props} />
}

function Direct(props: ContentViewProps) {
  const { data, type, named } = props
  const views = useMemo(() => viewsOf({ data, type, named }), [data, type, named])
  const [chosen, setChosen] = useState<View | null>(null)
  const view = chosen && views.includes(chosen) ? chosen : (views[0] ?? 'text')
  return (
    <div className={styles.content}>
      <Guarded key={view} data={data}>
        {RENDERERS[view](props) ?? RENDERERS.text(props)}
      </Guarded>
      {!props.large && (views.length > 1 || (data !== null && typeof data === 'object')) && (
        // biome-ignore lint/a11y/useSemanticElements: a fieldset would be announced as a form
        <div className={styles.views} role="group" aria-label="Shown as">
          {views.length > 1 &&
            views.map((one) => (
              <button
                key={one}
                type="button"
                className={styles.view}
                aria-pressed={one === view}
                onClick={() => setChosen(one)}
              >
                {VIEW_NAMES[one]}
              </button>
            ))}
          <CopyButton look="words" text={() => textOf(data)} label="Copy" />
        </div>
      )}
    </div>
  )
}
