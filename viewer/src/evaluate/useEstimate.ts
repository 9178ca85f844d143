/** What an evaluation would come to, asked again when the form has rested for a moment. */
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { post } from '../api/client'
import type { Schema } from '../api/types'

const REST_MS = 400

/** Ask the server; nothing is asked while there is no body. */
export function useEstimate(body: Schema<'RolloutInput'> | undefined) {
  const settled = useSettled(body === undefined ? '' : JSON.stringify(body))
  return useQuery<Schema<'RunEstimate'>>({
    queryKey: ['/api/runs/estimate', settled],
    queryFn: ({ signal }) =>
      post('/api/runs/estimate', { body: JSON.parse(settled) as Schema<'RolloutInput'>, signal }),
    enabled: settled !== '',
    retry: false,
    placeholderData: (before) => before,
  })
}

/** A text once it has not changed for a moment. */
export function useSettled(text: string): string {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), REST_MS)
    return () => clearTimeout(timer)
  }, [text])
  return settled
}
