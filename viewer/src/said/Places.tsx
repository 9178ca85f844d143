import { count } from '../format'
import { keysOf } from '../search'
import { PLACES, type Place, placeOf, within } from './place'
import styles from './said.module.css'

interface PlacesProps {
  text: string
  counts: Partial<Record<Place, number>>
  onText: (text: string) => void
}

/** Where to look, with the number of episodes that match there; places in which nothing was said are left out. */
export function Places({ text, counts, onText }: PlacesProps) {
  const chosen = placeOf(text)
  const shown = keysOf(PLACES).filter((place) => place === chosen || (counts[place] ?? 0) > 0)
  if (shown.length === 0) return null
  return (
    <fieldset className={styles.places}>
      <legend className="hidden-text">Where it was said</legend>
      <button type="button" aria-pressed={chosen === undefined} onClick={() => onText(within(text, undefined))}>
        Anywhere
      </button>
      {shown.map((place) => (
        <button key={place} type="button" aria-pressed={chosen === place} onClick={() => onText(within(text, place))}>
          {PLACES[place]} <span className={styles.amount}>{count(counts[place] ?? 0)}</span>
        </button>
      ))}
    </fieldset>
  )
}
