/** Choosing another domain in the form for a run. */
import type { Doc } from '../api/platform'
import type { Order } from './order'

/** The fields with another domain: its version, and the techniques that its vow declares. */
export function withDomain(order: Order, domains: readonly Doc<'Domain'>[], id: string): Order {
  const domain = domains.find((one) => one.id === id)
  return {
    ...order,
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
