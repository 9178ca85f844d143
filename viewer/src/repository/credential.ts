/** What is written into the fields of a credential, and what is sent of it. */
import type { Schema } from '../api/types'

/** The fields; what does not apply to an address stays empty. */
export interface CredentialDraft {
  token: string
  username: string
  deployKey: string
  hostKeys: string
}

/** The user name that goes with a token where the host looks at the token alone. */
export const USERNAME = 'x-access-token'

export const NO_CREDENTIAL: CredentialDraft = { token: '', username: '', deployKey: '', hostKeys: '' }

/** The body of a request; undefined if nothing is given. */
export function credentialBody(draft: CredentialDraft): Schema<'GitCredentialInput'> | undefined {
  const { token, username, deployKey, hostKeys } = draft
  if (token.trim() === '' && deployKey.trim() === '') return undefined
  return {
    ...(token.trim() && { token: token.trim() }),
    username: username.trim() || USERNAME,
    ...(deployKey.trim() && { deploy_key: deployKey }),
    host_keys: hostKeys.trim() && `${hostKeys.trim()}\n`,
  }
}
