import { Button } from '../parts/Button'
import { Icon } from '../parts/Icon'
import styles from './EmptyRuns.module.css'

/** In the place of the list when no run matches the filters. */
export function NoMatch({ onClear }: { onClear: () => void }) {
  return (
    <section className={styles.empty} data-small aria-labelledby="nothing-found">
      <Icon name="search" size={20} />
      <h2 id="nothing-found">No runs match these filters</h2>
      <Button icon="close" onClick={onClear}>
        Clear all filters
      </Button>
    </section>
  )
}
