import { filesUnder, textOf } from './sources.js'

/** A block of code in a document. */
export interface Block {
  /** `README.md:12` */
  readonly place: string
  readonly language: string
  readonly text: string
}

/** The blocks of code in the documents for users, in their order. */
export function blocksOf(paths: readonly string[] = ['README.md', ...filesUnder(['docs'], '.md')]): Block[] {
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
