/** Changing something on the server: it is told how that went, and what is shown is read again. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useToast } from './toast'

/** What happens around a change. */
interface ChangeOptions<Answer> {
  /** What is told when it went well; nothing without. */
  done?: string
  /** What is done then. */
  after?: (answer: Answer) => void
  /** The place of the change shows its failure itself: no notice. */
  silent?: boolean
}

/** A change that can be made: `mutate` makes it. Everything of the server is read again afterwards. */
export function useChange<Input, Answer>(act: (input: Input) => Promise<Answer>, options: ChangeOptions<Answer> = {}) {
  const client = useQueryClient()
  const toast = useToast()
  return useMutation({
    mutationFn: act,
    onSuccess: (answer) => {
      void client.invalidateQueries()
      if (options.done) toast({ text: options.done, tone: 'good' })
      options.after?.(answer)
    },
    onError: (error) => {
      if (!options.silent) toast({ text: error.message, tone: 'bad' })
    },
  })
}
