import { isMember } from '../session/person'
import { useMe } from '../session/useMe'

/** A link to sign in that leads back to this page, for those who are not signed in, or, `expired`, not any more. */
export function ComeBack({ expired }: { expired: boolean }) {
  const me = useMe()
  if ((!expired && isMember(me)) || here().startsWith('/sign-in')) return null
  return <a href={`sign-in?next=${encodeURIComponent(here())}`}>Sign in to continue</a>
}

/** This page below the base, with what was searched for. */
function here(): string {
  const { pathname, search } = window.location
  return `/${pathname.slice(new URL(document.baseURI).pathname.length)}${search}`
}
