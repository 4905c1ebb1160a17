import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { describeServer, type FoundServer } from '../servers/index.js'
import { zshPaths } from '../servers/zsh.js'
import { main, node, resultOf, shell, temporaryFolder } from './support.js'
import { hasScript, Typing } from './typing.js'

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

test.each([
  [['ver'], ['verify']],
  [
    ['pg', ''],
    ['install', 'install-leases', 'uninstall', 'status', 'trim', '--help'],
  ],
  [['watch', 'postgres://h/pg', '--ta'], ['--table']],
  [['pg', 'install', '--ta'], ['--table']],
  [['query', 'etcd://h', '--wh'], ['--where']],
  [['demo', '--ta'], []],
  [
    ['watch', 'etcd://h', '--codec', ''],
    ['json', 'string', 'bytes'],
  ],
  [['pg', 'install', '--level', 's'], ['statement']],
  [
    ['completion', ''],
    ['bash', 'zsh', 'fish', '--help'],
  ],
])('the script for bash completes %j', async (words, expected) => expect(await offered(...words)).toEqual(expected))

/** The words of a command line, and some of the lines that a shell then offers, each with its description after `separator`. */
const described: readonly (readonly [words: readonly string[], offered: (separator: string) => readonly string[]])[] = [
  [[''], (to) => [`serve${to}mirror sources, and serve a page that shows their objects and changes`, 'pg']],
  [['pg', ''], (to) => [`trim${to}remove old rows from all logs`, `--help${to}display help for command`]],
  [['watch', 'postgres://h/pg', '--'], (to) => [`--rls${to}Postgres: continue although row security applies`]],
  [['watch', 'etcd://h', '--codec', ''], () => ['json', 'string', 'bytes']],
  [['pg', 'install', '--level', ''], () => ['auto', 'statement', 'row']],
  [['completion', ''], (to) => [`fish${to}the shell fish`]],
]

/** The pattern of a line that starts so. */
function lineOf(start: string): RegExp {
  return new RegExp(`^${start}`, 'm')
}

/** An interactive zsh with its own completion system, in an empty folder. Its configuration is what `--help` says. */
async function startZsh(server: FoundServer): Promise<Typing> {
  const folder = temporaryFolder()
  const configuration = `${zshPaths(server)}
PS1='ready> '
listwatch() { '${node}' '${main}' "$@" }
autoload -Uz compinit && compinit -u
source <(listwatch completion zsh)`
  writeFileSync(join(folder, '.zshrc'), configuration)
  const zsh = new Typing(`stty rows 100 cols 200; exec '${server.binDir}/zsh' -d -i`, {
    cwd: folder,
    env: { ...process.env, ...server.env, HOME: folder, ZDOTDIR: folder, TERM: 'dumb', LC_ALL: 'C' },
  })
  onTestFinished(() => zsh[Symbol.asyncDispose]())
  await zsh.until(() => zsh.output.includes('ready> '), 'the prompt')
  return zsh
}

/** The words that zsh has listed, each with its description. It lists words without descriptions side by side. */
function listedIn(zsh: Typing): string {
  return zsh.output.split(/\r*\n| {2,}(?! *-- )/).join('\n')
}

describe.skipIf(!hasScript)('on a terminal (needs script, of util-linux)', () => {
  describeServer('zsh', 'the script for zsh', (server) => {
    test.each(described)('lists what follows %j', async (words, offered) => {
      const zsh = await startZsh(server)
      zsh.type(`listwatch ${words.join(' ')}\t`)
      const patterns = offered(' +-- ').map(lineOf)
      await zsh.until(() => patterns.every((each) => each.test(listedIn(zsh))), 'the list')
    })

    test.each([
      ['listwatch ver\t', 'listwatch verify '],
      ['listwatch verify postgres://h/pg --ta\t', 'listwatch verify postgres://h/pg --table '],
      ['listwatch pg install --level st\t', 'listwatch pg install --level statement '],
      ['listwatch run .zsh\t', 'listwatch run .zshrc'],
    ])('completes %j', async (keys, line) => {
      const zsh = await startZsh(server)
      // Instead of `listwatch`, zsh prints the words of the line.
      zsh.type(`listwatch() { print -r -- "<$0 $*>" }\n`)
      zsh.type(`${keys}\n`)
      await zsh.until(() => zsh.output.includes(`<${line.trimEnd()}>`), 'the line')
    })
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
    for (const each of offered('\t')) expect(output).toMatch(lineOf(each))
  })
})
