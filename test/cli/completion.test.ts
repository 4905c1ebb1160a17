import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { describeServer } from '../servers/index.js'
import { ensureBuilt } from '../support/build.js'
import { listwatch, refusalOf, resultOf, shell } from './support.js'

beforeAll(ensureBuilt)

/** The words that bash offers at the end of a command line. */
async function offered(...words: readonly string[]): Promise<string[]> {
  const list = words.map((word) => `'${word}'`).join(' ')
  const { output, errors } = await resultOf(
    shell(
      `eval "$(listwatch completion bash)"; COMP_WORDS=(listwatch ${list}); COMP_CWORD=${words.length}; _listwatch; printf '%s\\n' "\${COMPREPLY[@]}"`,
    ),
  )
  expect(errors).toBe('')
  return output.split('\n').filter((line) => line !== '')
}

test('commands and subcommands', async () => {
  expect(await offered('ver')).toEqual(['verify'])
  expect(await offered('')).toEqual(expect.arrayContaining(['watch', 'get', 'doctor', 'pg', '--version']))
  expect(await offered('pg', '')).toEqual(['install', 'install-leases', 'uninstall', 'status', 'trim', '--help'])
})

test('the options of the command, after its arguments too', async () => {
  expect(await offered('watch', 'postgres://h/pg', '--ta')).toEqual(['--table'])
  expect(await offered('pg', 'install', '--ta')).toEqual(['--table'])
  expect(await offered('query', 'etcd://h', '--wh')).toEqual(['--where'])
  expect(await offered('demo', '--ta')).toEqual([])
})

test('the values of an option with choices', async () => {
  expect(await offered('watch', 'etcd://h', '--codec', '')).toEqual(['json', 'string', 'bytes'])
  expect(await offered('pg', 'install', '--level', 's')).toEqual(['statement'])
})

test('an unknown shell is refused', async () => {
  expect(await refusalOf(listwatch(['completion', 'tcsh']))).toContain('Allowed choices are bash, zsh, fish')
})

/** The words of a command line, and some of the lines that a shell then offers, each with its description after `separator`. */
const described: readonly (readonly [words: readonly string[], offered: (separator: string) => readonly string[]])[] = [
  [[''], (to) => [`serve${to}mirror sources, and serve a page that shows their objects and changes`, 'pg']],
  [['pg', ''], (to) => [`trim${to}remove old rows from all logs`, `--help${to}display help for command`]],
  [['watch', 'postgres://h/pg', '--'], (to) => [`--rls${to}Postgres: continue although row security applies`]],
  [['watch', 'etcd://h', '--codec', ''], () => ['json', 'string', 'bytes']],
  [['pg', 'install', '--level', ''], () => ['auto', 'statement', 'row']],
]

function expectOffered(output: string, wanted: readonly string[]): void {
  const lines = output.split('\n')
  for (const each of wanted) expect(lines).toContainEqual(expect.stringMatching(new RegExp(`^${each}`)))
}

describeServer('zsh', 'the script for zsh', ({ binDir, env }) => {
  test.each(described)('completes %j', async (words, offered) => {
    const list = words.map((word) => `'${word}'`).join(' ')
    const { output, errors } = await resultOf(
      shell(
        `listwatch completion zsh > "$SCRIPT_FOLDER/script" && '${binDir}/zsh' -f -c '
           compdef() { [[ "$1 $2" = "_listwatch listwatch" ]] || exit 1; }
           _describe() { print -l -- \${(P)2} }
           source $SCRIPT_FOLDER/script; words=(listwatch '"$WORDS"'); CURRENT=$#words; _listwatch'`,
        { ...env, SCRIPT_FOLDER: temporaryFolder(), WORDS: list },
      ),
    )
    expect(errors).toBe('')
    expectOffered(output.replaceAll('\\:', ':'), offered(':'))
  })
})

describeServer('fish', 'the script for fish', ({ binDir, env }) => {
  test.each(described)('completes %j', async (words, offered) => {
    const folder = temporaryFolder()
    const { output, errors } = await resultOf(
      shell(
        `listwatch completion fish > ~/script && '${binDir}/fish' --no-config -c 'source ~/script; complete -C "$LINE"'`,
        { ...env, HOME: folder, LINE: `listwatch ${words.join(' ')}` },
      ),
    )
    expect(errors).toBe('')
    expectOffered(output, offered('\t'))
  })
})

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'listwatch-shell-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
