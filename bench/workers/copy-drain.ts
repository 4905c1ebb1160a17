import type pg from 'pg'

/** Runs a COPY TO STDOUT, and counts the bytes without looking at them. */
export function copyDrain(client: pg.Client, text: string): Promise<number> {
  return new Promise((resolve, reject) => {
    let bytes = 0
    const nothing = (): void => {}
    client.query({
      submit: (connection: { query(text: string): void }) => connection.query(text),
      handleCopyData: ({ chunk }: { readonly chunk: Buffer }) => {
        bytes += chunk.length
      },
      handleError: reject,
      handleReadyForQuery: () => resolve(bytes),
      handleCommandComplete: nothing,
      handleRowDescription: nothing,
      handleDataRow: nothing,
      handleEmptyQuery: nothing,
      handlePortalSuspended: nothing,
      callback: nothing,
    } as unknown as pg.Submittable)
  })
}
