import { fieldOf } from '../args/fields.js'

/** An error that the user can fix. It is printed as one line without a stack trace. */
export class CliError extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode = 2) {
    super(message)
    this.exitCode = exitCode
  }
}

/** Returns the imported package. Throws a CliError with the install command if it is missing. */
export async function loadPackage<M>(name: string, importing: () => Promise<M>, install = `npm i ${name}`): Promise<M> {
  try {
    return await importing()
  } catch (error) {
    const isMissing = fieldOf(error, 'code') === 'ERR_MODULE_NOT_FOUND'
    if (!isMissing || !String(fieldOf(error, 'message')).includes(`'${name}'`)) throw error
    throw new CliError(`${name} is missing; install it with: ${install}`)
  }
}
