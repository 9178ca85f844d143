/** What both episodes showed, beside each other: field by field, as words, or as boards whose other cells are marked. */

import type { Observed } from '../../episode/events'
import { plural } from '../../format'
import { ContentView } from '../../renderers/ContentView'
import { viewsOf } from '../../renderers/content'
import { Marked } from '../../renderers/Marked'
import { Differing } from './Differing'
import styles from './episodes.module.css'
import type { Side } from './pair'
import { type Field, fieldsOf, isBoard } from './state'

interface StateProps {
  side: Side
  own: Observed | null
  other: Observed | null
}

/** The state of one side, against that of the other. */
export function State({ side, own, other }: StateProps) {
  if (own === null || own.data === null || own.data === undefined) return <p className="muted">Nothing was shown.</p>
  const fields = side === 'a' ? fieldsOf(own.data, other?.data) : fieldsOf(other?.data, own.data)
  if (fields !== null) return <Fields side={side} fields={fields} />
  if (typeof own.data === 'string' && viewsOf({ data: own.data, type: own.type })[0] === 'text') {
    return <Differing side={side} text={own.data} other={typeof other?.data === 'string' ? other.data : undefined} />
  }
  return <ContentView data={own.data} type={own.type} before={other?.data} />
}

function Fields({ side, fields }: { side: Side; fields: readonly Field[] }) {
  const changed = fields.filter(({ same }) => !same)
  const same = fields.length - changed.length
  return (
    <>
      <dl className={styles.fields}>
        {changed.map(({ name, ...field }) => {
          const [text, other] = side === 'a' ? [field.a, field.b] : [field.b, field.a]
          return (
            <div key={name}>
              <dt>
                <Marked text={name} />
              </dt>
              <dd>
                {isBoard(field.values.a) && isBoard(field.values.b) ? (
                  <ContentView
                    data={field.values[side]}
                    type=""
                    before={field.values[side === 'a' ? 'b' : 'a']}
                    large
                  />
                ) : text === undefined ? (
                  <span className="muted">not there</span>
                ) : (
                  <Differing side={side} text={text} other={other} mono />
                )}
              </dd>
            </div>
          )
        })}
      </dl>
      {same > 0 && (
        <details className={styles.same}>
          <summary>{changed.length === 0 ? 'The same in both' : `${plural(same, 'field')} the same`}</summary>
          <dl className={styles.fields}>
            {fields
              .filter((field) => field.same)
              .map(({ name, a, values }) => (
                <div key={name}>
                  <dt>
                    <Marked text={name} />
                  </dt>
                  <dd>
                    {isBoard(values.a) ? (
                      <ContentView data={values.a} type="" large />
                    ) : (
                      <Differing side={side} text={a ?? ''} other={a} mono />
                    )}
                  </dd>
                </div>
              ))}
          </dl>
        </details>
      )}
    </>
  )
}
