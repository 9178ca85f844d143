/** Leaving the platform. */
import { ask } from '../api/platform'
import { openPage } from './next'
import type { Me } from './person'

/** Sign a member out, or forget a guest, and open the start page anew. */
export async function signOut(me: Me): Promise<void> {
  await (me.type === 'guest' ? ask('post', '/v1/auth/guest/logout') : ask('post', '/v1/auth/logout'))
  openPage('/')
}
