import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react'
import { Icon } from './Icon'
import { IconButton } from './IconButton'
import styles from './ToastProvider.module.css'
import { type Toast, ToastContext } from './toast'

const SHOWN_MS = 6_000
const ICONS = { plain: 'info', good: 'check', bad: 'error' } as const

/** Shows the notices that anything inside hands in; failures stay until they are closed. */
export function ToastProvider({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<(Toast & { id: number })[]>([])
  const next = useRef(0)
  const timers = useRef(new Set<ReturnType<typeof setTimeout>>())
  const close = useCallback((id: number) => setToasts((all) => all.filter((toast) => toast.id !== id)), [])
  const show = useCallback(
    (toast: Toast) => {
      const id = next.current++
      setToasts((all) => [...all.slice(-3), { ...toast, id }])
      if (toast.tone !== 'bad') timers.current.add(setTimeout(() => close(id), SHOWN_MS))
    },
    [close],
  )
  useEffect(() => {
    const pending = timers.current
    return () => pending.forEach(clearTimeout)
  }, [])
  return (
    <ToastContext value={show}>
      {children}
      <div className={styles.toasts} role="status" aria-live="polite">
        {toasts.map((toast) => (
          <div key={toast.id} className={styles.toast} data-tone={toast.tone ?? 'plain'}>
            <Icon name={ICONS[toast.tone ?? 'plain']} />
            <span className={styles.text}>{toast.text}</span>
            {toast.action && (
              <button type="button" className={styles.action} onClick={toast.action.run}>
                {toast.action.label}
              </button>
            )}
            <IconButton icon="close" size="sm" label="Close" onClick={() => close(toast.id)} />
          </div>
        ))}
      </div>
    </ToastContext>
  )
}
