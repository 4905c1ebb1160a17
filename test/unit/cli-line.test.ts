import { expect, test } from 'vitest'
import { oneLine } from '../../cli/output/error-hints.js'

test('what a server says is one line on the terminal, and commands nothing there', () => {
  const said = 'no\n\u001b[2J\u001b[31mred\u0007\r\tpostgres://me:secret@host/db '
  expect(oneLine(new Error(said))).toBe('no [2J [31mred postgres://me:***@host/db')
})

test('what is endless is cut', () => {
  const line = oneLine(new Error(`${'y'.repeat(50_000)}\n`))
  expect(line).toMatch(/^y{2000}…$/)
  expect(oneLine(new Error('y'.repeat(2_000)))).toBe('y'.repeat(2_000))
})
