import { expect, test } from 'vitest'
import { fillPage } from './page'

function filled(html: string): { page: Document; dropped: number } {
  const page = document.implementation.createHTMLDocument('')
  return { page, dropped: fillPage(page, html) }
}

test('text, tables and styles are kept', () => {
  const { page } = filled(
    '<head><style>td{color:red}</style></head><body style="margin:0"><table><tr><td>a</td></tr></table></body>',
  )
  expect(page.querySelector('td')?.textContent).toBe('a')
  expect(page.querySelector('style')?.textContent).toBe('td{color:red}')
  expect(page.body.getAttribute('style')).toBe('margin:0')
})

test.each([
  '<script>1</script>',
  '<img src=x onerror=alert(1)>',
  '<svg><script>1</script></svg>',
  '<a href="javascript:alert(1)">x</a>',
  '<iframe src="https://example.org"></iframe>',
  '<object data="x"></object>',
  '<meta http-equiv="refresh" content="0;url=https://example.org">',
  '<base href="https://example.org">',
  '<link rel="stylesheet" href="https://example.org/x.css">',
  '<form action="https://example.org"><button formaction="x">go</button></form>',
  '<svg><a xlink:href="javascript:alert(1)">x</a></svg>',
  '<video src="https://example.org/x.mp4"></video>',
  '<body onload="alert(1)">x',
])('%s is left without anything that acts', (html) => {
  const { page, dropped } = filled(html)
  expect(dropped).toBeGreaterThan(0)
  expect(page.querySelector('script, iframe, object, meta[http-equiv], base, link, video')).toBeNull()
  for (const element of page.querySelectorAll('*')) {
    for (const { name } of element.attributes) expect(name).not.toMatch(/^on|href|src|action/)
  }
})

test.each([
  '<head><style>@import url(https://example.org/a.css); p{color:red}</style></head><p>x',
  '<style>p{background:url( "https://example.org/a.png")}</style>',
  '<p style="background:url(//example.org/a.png)">x',
  '<svg><rect fill="url(https://example.org/a.svg#b)"/></svg>',
])('styles of %s load nothing', (html) => {
  const { page, dropped } = filled(html)
  expect(dropped).toBe(1)
  expect(page.documentElement.outerHTML).not.toContain('example.org')
})

test('images that styles bring along stay', () => {
  const { page, dropped } = filled('<p style="background:url(data:image/png;base64,AAAA);fill:url(#part)">x')
  expect(dropped).toBe(0)
  expect(page.querySelector('p')?.getAttribute('style')).toContain('data:image/png')
})

test('a form keeps what is in it but cannot be sent', () => {
  const { page } = filled('<form method="post"><input value="a"><button>go</button></form>')
  expect(page.querySelector('form')).toBeNull()
  expect(page.querySelector('div button')?.textContent).toBe('go')
})

test('links within the page and images that it brings along stay', () => {
  const { page } = filled('<a href="#part">x</a><img src="data:image/png;base64,AAAA">')
  expect(page.querySelector('a')?.getAttribute('href')).toBe('#part')
  expect(page.querySelector('img')?.getAttribute('src')).toContain('data:image/png')
})

test('another page takes the place of the first', () => {
  const page = document.implementation.createHTMLDocument('')
  fillPage(page, '<head><style>a{}</style></head><p>one')
  fillPage(page, '<p>two')
  expect(page.body.textContent).toBe('two')
  expect(page.querySelector('style')).toBeNull()
})
