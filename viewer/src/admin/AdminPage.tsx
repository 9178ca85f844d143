import { useNavigate, useSearch } from '@tanstack/react-router'
import { Page } from '../parts/Page'
import { Tabs } from '../parts/Tabs'
import { AuditList } from './AuditList'
import { ModelsView } from './ModelsView'
import { StatusView } from './StatusView'
import { UsersView } from './UsersView'

/** For those who run the server: how it goes, who is there, what was done. */
export function AdminPage() {
  const { tab = 'status' } = useSearch({ from: '/admin' })
  const navigate = useNavigate({ from: '/admin' })
  return (
    <Page title="Administration">
      <Tabs
        label="Sections of the administration"
        tabs={[
          { id: 'status', label: 'Status' },
          { id: 'users', label: 'Users' },
          { id: 'models', label: 'Models' },
          { id: 'audit', label: 'Audit log' },
        ]}
        selected={tab}
        onSelect={(next) => void navigate({ search: next === 'status' ? {} : { tab: next } })}
      >
        {tab === 'status' && <StatusView />}
        {tab === 'users' && <UsersView />}
        {tab === 'models' && <ModelsView />}
        {tab === 'audit' && <AuditList />}
      </Tabs>
    </Page>
  )
}
