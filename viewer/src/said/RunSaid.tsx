/** The search of what was said in a run, in its list of episodes. */
import { Link } from '@tanstack/react-router'
import { SearchField } from '../parts/SearchField'
import { SYNTAX } from './place'
import { SaidList } from './SaidList'
import styles from './said.module.css'
import { useSaid } from './useSaid'

interface RunSaidProps {
  runId: string
  text: string
  onText: (text: string) => void
}

/** The field alone; see `RunSaidList`. */
export function RunSaidField({ text, onText }: Omit<RunSaidProps, 'runId'>) {
  return (
    <div className={styles.field} data-tip={SYNTAX}>
      <SearchField
        page
        label="Search what was said"
        placeholder="Search what was said…"
        value={text}
        onChange={onText}
      />
    </div>
  )
}

/** What was found. */
export function RunSaidList({ runId, text, onText }: RunSaidProps) {
  const said = useSaid(text, { runId })
  return (
    <section aria-label="What was said" className={styles.said}>
      <SaidList said={said} text={text} onText={onText} whole="run" />
      <p className={styles.help}>
        <code>{SYNTAX}</code>
        <Link to="/search" search={{ q: text }}>
          Search every run
        </Link>
      </p>
    </section>
  )
}
