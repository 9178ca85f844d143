import { useEffect, useRef } from 'react'
import { plural } from '../format'
import { Button } from '../parts/Button'
import styles from './RunsPage.module.css'

/** New runs that are not in the list yet; shown at once if that moves nothing that is being read. */
interface ArrivalsProps {
  amount: number
  /** Whether new runs come first. */
  sorted: boolean
  onShow: () => void
}

/** A button that brings new runs into the list, which never moves by itself under the pointer or the focus. */
export function Arrivals({ amount, sorted, onShow }: ArrivalsProps) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (amount > 0 && sorted && undisturbed(place.current)) onShow()
  }, [amount, sorted, onShow])
  return (
    <div ref={place} className={styles.arrivals} role="status">
      {amount > 0 && (
        <Button icon="refresh" onClick={onShow}>
          Show {plural(amount, 'new run')}
        </Button>
      )}
    </div>
  )
}

/** Whether nobody points at the list, has the focus in it or has scrolled into it. */
function undisturbed(place: HTMLElement | null): boolean {
  const page = place?.parentElement
  return window.scrollY < 8 && page?.querySelector('[data-run-list]:is(:hover, :focus-within)') === null
}
