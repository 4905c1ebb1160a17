import type { TestProject } from 'vitest/node'
import { areServersRequired } from './required.js'
import { table } from './table.js'

/** Prints, at the end of a run, which tests were not run because a server is lacking, and why. */
export default function setup(project: TestProject): () => void {
  areServersRequired()
  return () => {
    const rows = skipped(project)
    if (rows.length === 0) return
    process.stdout.write(
      `\nNot run, for want of a server (npm run servers):\n${table(['server', 'tests', 'why'], rows)}\n`,
    )
  }
}

function skipped(project: TestProject): string[][] {
  const rows: string[][] = []
  for (const module of project.vitest.state.getTestModules()) {
    if (module.project !== project) continue
    for (const test of module.children.allTests('skipped')) {
      const missing = test.meta().missingServer
      if (missing !== undefined)
        rows.push([missing.name, `${module.relativeModuleId} ${titleOf(test.fullName)}`, missing.why])
    }
  }
  return rows
}

/** Without the stand-in's own name. */
function titleOf(fullName: string): string {
  return fullName.split(' > ').slice(0, -1).join(' > ')
}
