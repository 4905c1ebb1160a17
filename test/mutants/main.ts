import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, textOf } from '../support/sources.js'
import { files } from './index.js'
import { matrix } from './matrix.js'
import { sourcesUnder } from './quotes.js'
import { reanchored } from './reanchor.js'

const USAGE = `Usage: npm run mutants -- COMMAND

list [TEXT]   prints the mutants whose names contain the text, each with its file and line
reanchor      quotes the nearest lines instead of what is gone or not unique any more
matrix        finds which unit and property tests kill which mutants; what is known stays in matrix.jsonl
              --source PREFIX  mutants of the files that begin so
              --only TEXT      mutants whose names contain it; it may be there several times
              --per-file N     mutants of each file that operators make: 20
              --tests PREFIX, --jobs N, --out FILE
              --report         prints what is known`

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
  const { texts, remarks } = reanchored(all, sourcesUnder)
  for (const [path, text] of texts) writeFileSync(join(root, path), text)
  for (const remark of remarks) console.error(remark)
}
