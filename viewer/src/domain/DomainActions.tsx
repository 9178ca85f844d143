import { useState } from 'react'
import { post } from '../api/client'
import type { Schema } from '../api/types'
import { ConfirmDialog } from '../parts/ConfirmDialog'
import { Menu, type MenuItem } from '../parts/Menu'
import { useChange } from '../parts/useChange'
import { isAdmin } from '../session/person'
import { useMe } from '../session/useMe'
import { ProtocolDialog } from './ProtocolDialog'

/** What the owner of a domain can do with it. */
export function DomainActions({ domain }: { domain: Schema<'Domain'> }) {
  const [asked, setAsked] = useState(false)
  const [declaring, setDeclaring] = useState(false)
  const me = useMe()
  const params = { domain_id: domain.id }
  const publish = useChange(() => post('/api/domains/{domain_id}/publish', { params }), {
    done: 'Domain published.',
  })
  const unpublish = useChange(() => post('/api/domains/{domain_id}/unpublish', { params }), {
    done: 'Domain changed back to a draft.',
  })
  const archive = useChange(() => post('/api/domains/{domain_id}/archive', { params }), {
    done: 'Domain archived.',
    after: () => setAsked(false),
  })
  const own = me?.type === 'member' && String(me.user_id) === domain.owner_id
  if (!own && !isAdmin(me)) return null
  const items: MenuItem[] =
    domain.status === 'published'
      ? [{ label: 'Change back to draft', onChoose: () => unpublish.mutate(undefined) }]
      : [{ label: 'Publish', onChoose: () => publish.mutate(undefined) }]
  if (domain.status !== 'archived') {
    items.push({ label: 'Declare an official protocol…', onChoose: () => setDeclaring(true) })
    items.push({ label: 'Archive…', danger: true, onChoose: () => setAsked(true) })
  }
  return (
    <>
      <Menu label="More" icon="menu" small items={items} />
      <ProtocolDialog domain={domain} open={declaring} onClose={() => setDeclaring(false)} />
      <ConfirmDialog
        open={asked}
        title={`Archive ${domain.name}?`}
        confirm="Archive"
        danger
        busy={archive.isPending}
        onConfirm={() => archive.mutate(undefined)}
        onClose={() => setAsked(false)}
      >
        <p>The domain is removed from all lists and its public runs become private. You can publish it again.</p>
      </ConfirmDialog>
    </>
  )
}
