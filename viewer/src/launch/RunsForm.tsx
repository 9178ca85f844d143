/** The frame of every form for runs: fields, what the runs would come to beside them, and Ctrl-Enter. */

import type { ReactNode } from 'react'
import panels from '../parts/panels.module.css'
import { ForecastSide, type ForecastSideProps } from './ForecastSide'
import styles from './launch.module.css'

interface RunsFormProps extends ForecastSideProps {
  label: string
  /** Called when it is sent, whether it is ready or not. */
  onTry: () => void
  /** What stands under the forecast. */
  side?: ReactNode
  children: ReactNode
}

export function RunsForm({ label, onTry, side, children, ...forecast }: RunsFormProps) {
  const { runs } = forecast
  const submit = () => {
    onTry()
    if (runs.ready && !runs.start.isPending) runs.start.mutate(undefined)
  }
  return (
    <form
      aria-label={label}
      className={styles.form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
        event.preventDefault()
        submit()
      }}
    >
      <div className={panels.stack}>{children}</div>
      <div className={panels.stack}>
        <ForecastSide {...forecast} />
        {side}
      </div>
    </form>
  )
}
