#!/usr/bin/env node
// Node parses this file before it knows its own version: no import statement, and no syntax newer than Node 14's.

/** The oldest version of `engines` in package.json. */
const [MAJOR, MINOR] = [22, 12] as const

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < MAJOR || (major === MAJOR && minor < MINOR)) {
  process.stderr.write(`listwatch: Node ${process.versions.node} is too old; install Node ${MAJOR}.${MINOR} or later\n`)
  process.exitCode = 2
} else {
  import('./main.js').catch((error: unknown) => {
    console.error(error)
    process.exitCode = 1
  })
}
