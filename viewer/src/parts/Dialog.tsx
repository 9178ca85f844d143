import { type ReactNode, useEffect, useId, useRef } from 'react'
import styles from './Dialog.module.css'
import { IconButton } from './IconButton'

/** A window above the page. */
interface DialogProps {
  open: boolean
  onClose: () => void
  title: string
  children: ReactNode
  /** Buttons below. */
  actions?: ReactNode
  wide?: boolean
}

/** What takes the focus when a dialog opens; without any the browser chooses. */
const FIELDS = 'input:not([type="checkbox"], [type="radio"]), textarea'

/** A modal dialog: its first field has the focus; escape and a click beside it close it, the focus goes back. */
export function Dialog({ open, onClose, title, children, actions, wide = false }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    if (open && !dialog.current?.open) {
      dialog.current?.showModal()
      dialog.current?.querySelector<HTMLElement>(FIELDS)?.focus()
    }
    if (!open && dialog.current?.open) dialog.current.close()
  }, [open])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: escape closes it, the browser sees to that
    <dialog
      ref={dialog}
      className={styles.dialog}
      data-wide={wide || undefined}
      aria-labelledby={id}
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      {open && (
        <div className={styles.inside}>
          <header className={styles.head}>
            <h2 id={id}>{title}</h2>
            <IconButton icon="close" label="Close" onClick={onClose} />
          </header>
          <div className={styles.body}>{children}</div>
          {actions && <footer className={styles.actions}>{actions}</footer>}
        </div>
      )}
    </dialog>
  )
}
