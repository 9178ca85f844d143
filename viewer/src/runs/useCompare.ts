import { useNavigate } from '@tanstack/react-router'
import { useCallback } from 'react'
import { MOST_RUNS } from '../compare/CompareSearch'

/** The function that opens the comparison of runs; the first of them is the baseline. */
export function useCompare(): (ids: readonly string[]) => void {
  const navigate = useNavigate()
  return useCallback(
    (ids: readonly string[]) => void navigate({ to: '/compare', search: { run: ids.slice(0, MOST_RUNS) } }),
    [navigate],
  )
}
