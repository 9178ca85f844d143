/** Choosing another domain in the form for a run. */
import type { Schema } from '../api/types'
import type { RunRequest } from './runRequest'

/** The fields with another domain: its version, and the techniques that its vow declares. */
export function withDomain(request: RunRequest, domains: readonly Schema<'Domain'>[], id: string): RunRequest {
  const domain = domains.find((one) => one.id === id)
  return {
    ...request,
    domain: domain?.id ?? '',
    environment: '',
    official: false,
    version: domain?.binding_vow.version ?? '',
    techniques: (domain?.binding_vow.techniques ?? []).map((one) => ({
      id: one.technique_id,
      on: one.required ?? false,
      params: '',
    })),
  }
}
