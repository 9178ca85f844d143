import type { ReactNode } from 'react'
import { Button } from './Button'
import { Dialog } from './Dialog'

/** A question with two answers. */
interface ConfirmDialogProps {
  open: boolean
  title: string
  /** What will happen, and whether it can be undone. */
  children: ReactNode
  /** The verb on the button. */
  confirm: string
  danger?: boolean
  busy?: boolean
  onConfirm: () => void
  onClose: () => void
}

/** Ask before something that matters. */
export function ConfirmDialog({
  open,
  title,
  children,
  confirm,
  danger,
  busy,
  onConfirm,
  onClose,
}: ConfirmDialogProps) {
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title={title}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look={danger ? 'danger' : 'primary'} busy={busy} onClick={onConfirm}>
            {confirm}
          </Button>
        </>
      }
    >
      {children}
    </Dialog>
  )
}
