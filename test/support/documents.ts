import { filesUnder, PRODUCT, textOf } from './sources.js'

/** A block of code in a document. */
export interface Block {
  /** `README.md:12` */
  readonly place: string
  readonly language: string
  readonly text: string
}

/** The files whose docstrings have examples. */
function documentedFiles(): string[] {
  return PRODUCT.filter((folder) => folder !== 'cli').flatMap((folder) => filesUnder([folder], '.ts'))
}

export function countOfExampleTags(): number {
  return documentedFiles().reduce((count, path) => count + (textOf(path).match(/^ +\* @example\b/gm) ?? []).length, 0)
}

/** The `@example` blocks of the docstrings, in their order. */
export function exampleBlocks(): Block[] {
  return documentedFiles().flatMap((path) => {
    const code = textOf(path)
    return Array.from(code.matchAll(/@example\n\s*\* ```ts\n([\s\S]*?)^\s*\* ```$/gm), ({ index, 1: text = '' }) => ({
      place: `${path}:${code.slice(0, index).split('\n').length}`,
      language: 'ts',
      text: text.replace(/^\s*\* ?/gm, ''),
    }))
  })
}

/** The documents of docs/ and docs/explain. TypeDoc writes those of docs/api, which are not in git. */
export function guides(): string[] {
  return filesUnder(['docs'], '.md').filter((path) => !path.startsWith('docs/api/'))
}

/** Every document of the repository. */
export function allDocuments(): string[] {
  return [
    ...['CHANGELOG.md', 'CONTRIBUTING.md', 'README.md', 'SECURITY.md', 'SPEC.md'],
    ...guides(),
    ...filesUnder(['examples'], '.md'),
  ]
}

function userDocuments(): string[] {
  return ['README.md', ...guides()]
}

/** The blocks of code in the documents for users, in their order. */
export function blocksOf(paths: readonly string[] = userDocuments()): Block[] {
  return paths.flatMap((path) => blocksIn(textOf(path), path))
}

const BLOCK = /^```(\w*)\n([\s\S]*?)^```$/gm

/** The blocks of code in the text of a document. */
export function blocksIn(document: string, path: string): Block[] {
  return Array.from(document.matchAll(BLOCK), ({ index, 1: language = '', 2: text = '' }) => {
    const line = document.slice(0, index).split('\n').length
    return { place: `${path}:${line}`, language, text }
  })
}

/** The text of a document without the blocks that `blocksIn` returns. */
export function outsideBlocks(document: string): string {
  return document.replace(BLOCK, '')
}

/**
 * The sections of a document by their anchors, as GitHub names them: a name that is there already gets a number. An
 * element `<a id="name">` is an anchor too, of the code after it.
 */
export function sectionsOf(document: string): ReadonlyMap<string, string> {
  const prose = outsideBlocks(document)
  const times = new Map<string, number>()
  const headings = Array.from(prose.matchAll(/^#+ (.*)$/gm), ([, heading = '']) => {
    const name = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-')
    const before = times.get(name) ?? 0
    times.set(name, before + 1)
    return [before === 0 ? name : `${name}-${before}`, heading] as const
  })
  const elements = Array.from(prose.matchAll(/<a id="([\w-]+)"><\/a> `([^`]*)`/g), ([, anchor = '', code = '']) => {
    return [anchor, code] as const
  })
  return new Map([...headings, ...elements])
}
