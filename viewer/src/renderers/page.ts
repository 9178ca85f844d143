/** Recorded HTML, rebuilt in a page that can run nothing and load nothing. */

const DROPPED = new Set([
  'script',
  'iframe',
  'frame',
  'frameset',
  'object',
  'embed',
  'applet',
  'link',
  'meta',
  'base',
  'title',
  'noscript',
  'template',
  'portal',
  'fencedframe',
  'audio',
  'video',
  'source',
  'track',
]) // prettier-ignore
const ADDRESSES = new Set([
  'href',
  'src',
  'srcset',
  'action',
  'formaction',
  'ping',
  'background',
  'data',
  'poster',
  'xlink:href',
])
/** What styles load: all but images that the page brings along, and parts of the page. */
const LOADED = /@import\b[^;]*;?|url\(\s*(?!['"]?\s*(?:#|data:image\/(?:png|jpeg|gif|webp)[;,]))[^)]*\)/gi
const MOST = 50_000

/**
 * Put the HTML into an empty page. Scripts, frames, handlers and addresses are left out, although the page's sandbox
 * and policy would stop each of them as well. Returns how many things were left out.
 */
export function fillPage(page: Document, html: string): number {
  // The page's own parser goes by the page's policy, which allows inline styles; handlers are taken out before it sees them.
  const parser = page.defaultView ? new (page.defaultView as unknown as typeof globalThis).DOMParser() : new DOMParser()
  const parsed = parser.parseFromString(withoutHandlers(html), 'text/html')
  const count = { made: 0, dropped: 0 }
  page.body.replaceChildren()
  for (const style of page.head.querySelectorAll('style')) style.remove()
  for (const child of parsed.head.childNodes) {
    if (child.nodeName.toLowerCase() === 'style') page.head.append(...copies(page, [child], count))
    else if (DROPPED.has(child.nodeName.toLowerCase()) && child.nodeName.toLowerCase() !== 'title') count.dropped += 1
  }
  attributes(page.body, parsed.body, count)
  page.body.append(...copies(page, parsed.body.childNodes, count))
  return count.dropped
}

/** What the browser would complain about on its console, although it would not run it. */
function withoutHandlers(html: string): string {
  return html
    .replace(/<base(?=[\s/>])/gi, '<meta')
    .replace(/<[a-z][^>]*>/gi, (tag) => tag.replace(/([\s"'/])on[a-z]+\s*=/gi, '$1data-left-out='))
}

interface Count {
  made: number
  dropped: number
}

function copies(page: Document, nodes: Iterable<Node>, count: Count): Node[] {
  const found: Node[] = []
  for (const node of nodes) {
    if (count.made++ > MOST) break
    if (node.nodeType === 3) {
      const text = node.nodeValue ?? ''
      const styles = node.parentElement?.localName === 'style'
      found.push(page.createTextNode(styles ? withoutLoads(text, count) : text))
    }
    if (node.nodeType !== 1) continue
    const element = node as Element
    const name = element.localName
    if (DROPPED.has(name)) {
      count.dropped += 1
      continue
    }
    const copy = created(page, element)
    if (!copy) continue
    attributes(copy, element, count)
    copy.append(...copies(page, element.childNodes, count))
    found.push(copy)
  }
  return found
}

/** Styles without addresses; the page's policy would stop them, and the browser complain. */
function withoutLoads(styles: string, count: Count): string {
  return styles.replace(LOADED, () => {
    count.dropped += 1
    return ''
  })
}

/** Made in the page itself, so that its policy and not ours decides about inline styles. */
function created(page: Document, element: Element): Element | null {
  try {
    // A form that is sent would be stopped by the sandbox, and complained about.
    return page.createElementNS(element.namespaceURI, element.localName === 'form' ? 'div' : element.localName)
  } catch {
    return null
  }
}

function attributes(copy: Element, element: Element, count: Count): void {
  for (const { name, value } of element.attributes) {
    const lower = name.toLowerCase()
    const inner = lower === 'href' && value.startsWith('#')
    const image = lower === 'src' && /^data:image\/(png|jpeg|gif|webp)[;,]/i.test(value)
    if (
      lower.startsWith('on') ||
      lower === 'data-left-out' ||
      lower === 'srcdoc' ||
      lower === 'target' ||
      lower === 'autofocus'
    )
      count.dropped += 1
    else if (ADDRESSES.has(lower) && !inner && !image) {
      count.dropped += 1
      if (lower === 'href' || lower === 'src') copy.setAttribute('title', value)
    } else {
      try {
        copy.setAttribute(name, withoutLoads(value, count))
      } catch {
        count.dropped += 1
      }
    }
  }
}
