/** Short notices at the edge of the page. */
import { createContext, useContext } from 'react'

/** A notice: what happened, whether it went well, and perhaps one thing to do about it. */
export interface Toast {
  text: string
  tone?: 'plain' | 'good' | 'bad'
  action?: { label: string; run: () => void }
}

/** Where notices are handed in. */
export const ToastContext = createContext<(toast: Toast) => void>(() => {})

/** The function that shows a notice. */
export function useToast(): (toast: Toast) => void {
  return useContext(ToastContext)
}
