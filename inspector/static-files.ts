import { readFile } from 'node:fs/promises'

/** A file of the page. */
interface StaticFile {
  readonly type: string
  readonly body: Buffer
}

/** The files of the page, by path. The build puts them beside this module. */
const FILES: ReadonlyMap<string, readonly [name: string, type: string]> = new Map([
  ['/', ['index.html', 'text/html; charset=utf-8']],
  ['/page.js', ['page.js', 'text/javascript; charset=utf-8']],
  ['/page.css', ['page.css', 'text/css; charset=utf-8']],
  ['/icon.svg', ['icon.svg', 'image/svg+xml']],
])

/** Returns a file of the page; undefined if the path is not one of them. */
export async function staticFile(path: string): Promise<StaticFile | undefined> {
  const file = FILES.get(path)
  if (file === undefined) return undefined
  const [name, type] = file
  return { type, body: await readFile(new URL(`page/${name}`, import.meta.url)) }
}
