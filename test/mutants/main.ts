// npm run mutants -- matrix [--report]: which test kills which mutant.
import { matrix } from './matrix.js'

const [, , command, ...args] = process.argv
if (command === 'matrix') await matrix(args)
else throw new Error('the command is: matrix')
