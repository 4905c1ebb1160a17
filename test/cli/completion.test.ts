import { beforeAll, expect, test } from 'vitest'
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
  expect(await offered('pg', '')).toEqual(['install', 'uninstall', 'status', 'trim', '--help'])
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
  expect(await refusalOf(listwatch(['completion', 'tcsh']))).toContain('Allowed choices are bash')
})
