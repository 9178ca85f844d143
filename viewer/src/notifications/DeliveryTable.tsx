import { Link } from '@tanstack/react-router'
import type { Schema } from '../api/types'
import { PlainTable } from '../parts/PlainTable'
import { When } from '../parts/When'
import { DeliveryBadge } from './DeliveryBadge'

/** Messages, the newest first, with the answers to them. */
export function DeliveryTable({ messages }: { messages: readonly Schema<'DeliveryDocument'>[] }) {
  return (
    <PlainTable label="Table of messages">
      <thead>
        <tr>
          <th scope="col">Queued</th>
          <th scope="col">About</th>
          <th scope="col">Status</th>
          <th scope="col">Answer</th>
          <th scope="col" data-numeric data-minor>
            Attempts
          </th>
        </tr>
      </thead>
      <tbody>
        {messages.map((message) => (
          <tr key={message.id}>
            <td>
              <When at={message.created_at} />
            </td>
            <td>
              {message.run_id ? (
                <Link to="/runs/$runId" params={{ runId: message.run_id }}>
                  {message.event}
                </Link>
              ) : (
                message.event
              )}
            </td>
            <td>
              <DeliveryBadge message={message} />
            </td>
            <td>
              {message.answer_status} {message.answer}
            </td>
            <td data-numeric data-minor>
              {message.attempts}
            </td>
          </tr>
        ))}
      </tbody>
    </PlainTable>
  )
}
