/** Something that the user can mend: one line, without a stack trace, and the exit code. */
export class CliError extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode = 2) {
    super(message)
    this.exitCode = exitCode
  }
}

/** The module, or how to install what is missing. */
export async function loadPackage<M>(name: string, importing: () => Promise<M>, install: string): Promise<M> {
  try {
    return await importing()
  } catch (error) {
    const { code, message } = Object(error) as { readonly code?: unknown; readonly message?: unknown }
    if (code !== 'ERR_MODULE_NOT_FOUND' || !String(message).includes(`'${name}'`)) throw error
    throw new CliError(`${name} is missing; install it with: ${install}`)
  }
}
