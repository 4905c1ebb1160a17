import { textOf } from '../support/sources.js'
import { files } from './index.js'
import { matrix } from './matrix.js'
import { sourcesUnder } from './quotes.js'
import { reanchored } from './reanchor.js'

const USAGE = `Usage: npm run mutants -- COMMAND

list [TEXT]   prints the mutants whose names contain the text, each with its file and line
reanchor      prints a patch that quotes the nearest lines instead of what is gone or not unique any more:
              npm run --silent mutants -- reanchor | git apply
matrix        finds which unit and property test kills which mutant, for hours: matrix.jsonl, matrix-report/
              --report prints what is known; --only TEXT, --tests PREFIX, --per-file N, --jobs N`

const [command, ...words] = process.argv.slice(2)
if (command === 'list') list(words.join(' '))
else if (command === 'reanchor') reanchor()
else if (command === 'matrix') await matrix(words)
else {
  console.log(USAGE)
  if (command !== undefined) process.exitCode = 2
}

function list(text: string): void {
  for (const [path, entries] of files)
    for (const { line, mutant } of entries)
      if (mutant.name.includes(text)) console.log(`${path}:${line} ${mutant.name}`)
}

function reanchor(): void {
  const all = Array.from(files, ([path, entries]) => ({ path, text: textOf(path), entries }))
  const { patch, remarks } = reanchored(all, sourcesUnder)
  process.stdout.write(patch)
  for (const remark of remarks) console.error(remark)
}
