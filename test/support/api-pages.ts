import {
  type Declarations,
  type Declared,
  declarationsOf,
  docstringOf,
  entryPoints,
  exportsOf,
  signatureOf,
} from './public-symbols.js'

/** A symbol of a page. A function may have several declarations. */
interface Symbol {
  readonly name: string
  readonly kind: string
  readonly declared: readonly Declared[]
  /** `postgres.md#postgressource` */
  readonly link: string
}

interface Page {
  readonly specifier: string
  readonly file: string
  readonly symbols: readonly Symbol[]
  /** Symbols that an earlier page has. */
  readonly others: readonly Symbol[]
}

/** The folder of the pages. */
export const API_FOLDER = 'docs/api'

const KINDS = ['function', 'class', 'const', 'interface', 'type']
const MADE = 'This page is made from the declarations by `npm run api:accept`.'

/** Returns the reference of the public API: the text of each page by its file name. */
export function apiPages(declarations: Declarations): ReadonlyMap<string, string> {
  const pages = pagesOf(declarations)
  const links = new Map(pages.flatMap(({ symbols }) => symbols.map(({ name, link }) => [name, link])))
  const index = pages.map(
    ({ specifier, file, symbols, others }) =>
      `| [\`${specifier}\`](${file}) | ${[...symbols, ...others]
        .filter(({ kind }) => kind === 'function' || kind === 'class')
        .map(({ name, link }) => `[\`${name}\`](${link})`)
        .join(', ')} |`,
  )
  return new Map([
    [
      'README.md',
      `# API reference\n\n${MADE}\n\n| entry point | functions and classes |\n|---|---|\n${index.join('\n')}\n`,
    ],
    ...pages.map((page) => [page.file, pageText(page, links)] as const),
  ])
}

function pagesOf(declarations: Declarations): Page[] {
  const pages: Page[] = []
  for (const { specifier, path } of entryPoints()) {
    const file = `${specifier.replace(/^listwatch\//, '').replaceAll('/', '-')}.md`
    const known = new Map(pages.flatMap(({ symbols }) => symbols.map((each) => [each.name, each])))
    const names = exportsOf(path, declarations)
    const anchors = new Map<string, number>()
    const symbols = names
      .filter(([name]) => !known.has(name))
      .map(([name, from]) => {
        const declared = declarationsOf(name, from, declarations)
        return { name, declared, kind: kindOf(declared[0]) }
      })
      .sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind))
      .map((symbol): Symbol => {
        const anchor = symbol.name.toLowerCase()
        const count = anchors.get(anchor) ?? 0
        anchors.set(anchor, count + 1)
        return { ...symbol, link: `${file}#${anchor}${count === 0 ? '' : `-${count}`}` }
      })
    pages.push({ specifier, file, symbols, others: names.flatMap(([name]) => known.get(name) ?? []) })
  }
  return pages
}

function kindOf(declared: Declared | undefined): string {
  const line = declared?.lines[declared.at] ?? ''
  return KINDS.find((kind) => new RegExp(`^export (declare )?(abstract )?${kind} `).test(line)) ?? 'const'
}

function pageText({ specifier, symbols, others }: Page, links: ReadonlyMap<string, string>): string {
  const contents = symbols.map(
    ({ name, kind, declared, link }) =>
      `| [\`${name}\`](${link.replace(/^.*#/, '#')}) | ${kind} | ${summaryOf(declared)} |`,
  )
  const more = others.map(({ name, link }) => `[\`${name}\`](${link})`).join(', ')
  return [
    `# \`${specifier}\``,
    MADE,
    `| name | kind | purpose |\n|---|---|---|\n${contents.join('\n')}`,
    ...(more === '' ? [] : [`It also exports ${more}.`]),
    ...symbols.map((symbol) => sectionOf(symbol, links)),
  ]
    .join('\n\n')
    .concat('\n')
}

/** The first sentence of the longest docstring, in one line of a table. */
function summaryOf(declared: readonly Declared[]): string {
  const [prose = ''] = declared.map((each) => docstringOf(each).prose).sort((a, b) => b.length - a.length)
  const [sentence] = /^[\s\S]*?\.(?=\s|$)/.exec(prose) ?? [prose]
  return sentence.replace(/\s+/g, ' ').replaceAll('|', '\\|')
}

function sectionOf({ name, declared }: Symbol, links: ReadonlyMap<string, string>): string {
  const parts = declared.flatMap((each) => {
    const { prose, returns, throws, examples } = docstringOf(each)
    return [
      `\`\`\`typescript\n${signatureOf(each)}\n\`\`\``,
      prose,
      [...returns.map((line) => `- Returns: ${line}`), ...throws.map((line) => `- Throws ${line}`)].join('\n'),
      ...examples.map((example) => example.replace(/^```ts$/m, '```typescript')),
    ]
  })
  const signatures = declared.map(signatureOf).join('\n')
  const named = new Set((signatures.match(/\b[A-Z]\w+/g) ?? []).filter((each) => each !== name && links.has(each)))
  const related = [...named].map((each) => `[\`${each}\`](${links.get(each)})`).join(' · ')
  return [`## \`${name}\``, ...parts, related === '' ? '' : `See ${related}.`]
    .filter((part) => part !== '')
    .join('\n\n')
}
