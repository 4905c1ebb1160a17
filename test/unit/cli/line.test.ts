import { expect, test } from 'vitest'
import { oneLine, withCommands } from '../../../cli/output/error-hints.js'

test('what a server says is one line on the terminal, which commands nothing there and has an end', () => {
  const said = 'no\n\u001b[2J\u001b[31mred\u0007\r\tpostgres://me:secret@host/db '
  expect(oneLine(new Error(said))).toBe('no [2J [31mred postgres://me:***@host/db')
  expect(oneLine(new Error(`${'y'.repeat(50_000)}\n`))).toMatch(/^y{2000}…$/)
  expect(oneLine(new Error('y'.repeat(2_000)))).toBe('y'.repeat(2_000))
})

test('a suggested command has the URL without its secrets, and names with dollar signs as they are', () => {
  const url = 'postgres://reader:hunter2@host/db?sslmode=require&password=hunter2'
  const message = 'run: listwatch pg install <url> --table <table>'
  expect(withCommands(message, { url, table: 'orders' })).toMatch(
    /pg install '?postgres:\/\/reader@host\/db\?sslmode=require'? --table orders$/,
  )
  const priced = 'run: pg install <url> --table <table>, as <role>, and again'
  expect(withCommands(priced, { url: 'postgres://the$$role@host/db$', table: 'price$' })).toBe(
    "run: pg install 'postgres://the$$role@host/db$' --table 'price$', as 'the$$role', and again",
  )
})
