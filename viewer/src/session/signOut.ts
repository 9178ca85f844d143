/** Leaving the server. */
import { post } from '../api/client'
import { forgetRecent } from '../palette/recent'
import { openPage } from './next'
import type { Me } from './person'

/** Sign a member out, or forget a guest, and open the start page anew. */
export async function signOut(me: Me): Promise<void> {
  await (me.type === 'guest' ? post('/api/auth/guest/logout') : post('/api/auth/logout'))
  forgetRecent()
  openPage('/')
}
