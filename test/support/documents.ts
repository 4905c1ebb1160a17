import { filesUnder, textOf } from './sources.js'

/** A block of code in a document. */
export interface Block {
  /** `README.md:12` */
  readonly place: string
  readonly language: string
  readonly text: string
}

/** The `@example` blocks of the docstrings, in their order. */
export function exampleBlocks(): Block[] {
  const files = ['src', 'adapters', 'inspector', 'telemetry', 'bindings', 'testing'].flatMap((folder) =>
    filesUnder([folder], '.ts'),
  )
  return files.flatMap((path) => {
    const code = textOf(path)
    return Array.from(code.matchAll(/@example\n\s*\* ```ts\n([\s\S]*?)^\s*\* ```$/gm), ({ index, 1: text = '' }) => ({
      place: `${path}:${code.slice(0, index).split('\n').length}`,
      language: 'ts',
      text: text.replace(/^\s*\* ?/gm, ''),
    }))
  })
}

/** The documents for users. TypeDoc copies the docstrings to docs/api; `exampleBlocks` returns their examples. */
function userDocuments(): string[] {
  return ['README.md', ...filesUnder(['docs'], '.md').filter((path) => !path.startsWith('docs/api/'))]
}

/** The blocks of code in the documents for users, in their order. */
export function blocksOf(paths: readonly string[] = userDocuments()): Block[] {
  return paths.flatMap((path) => {
    const document = textOf(path)
    return Array.from(
      document.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm),
      ({ index, 1: language = '', 2: text = '' }) => {
        const line = document.slice(0, index).split('\n').length
        return { place: `${path}:${line}`, language, text }
      },
    )
  })
}

/**
 * The sections of a document by their anchors, as GitHub names them: a name that is there already gets a number. An
 * element `<a id="name">` is an anchor too, of the code after it.
 */
export function sectionsOf(document: string): ReadonlyMap<string, string> {
  const prose = document.replace(/^```[\s\S]*?^```$/gm, '')
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
