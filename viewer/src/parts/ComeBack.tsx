import { useMe } from '../session/useMe'

/** A link to sign in that leads back to this page; `hidden` from those who are signed in already. */
export function ComeBack({ hidden }: { hidden: boolean }) {
  const me = useMe()
  if (hidden && me?.type !== 'anonymous') return null
  return <a href={`sign-in?next=${encodeURIComponent(here())}`}>Sign in to continue</a>
}

/** This page below the base, with what was searched for. */
function here(): string {
  const { pathname, search } = window.location
  return `/${pathname.slice(new URL(document.baseURI).pathname.length)}${search}`
}
