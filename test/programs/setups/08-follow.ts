// Follows a REST collection with the adapter of program 08, and notes what happens.
import { createInformer } from 'listwatch'

const note = (text: string): void => void process.send?.({ type: 'note', note: text })

process.on('message', async ({ url }: { readonly url: string }) => {
  const { countries } = await import('../08-rest-adapter.ts')
  const all = createInformer({ source: countries(url, 50) })
  all.on('error', ({ code, retryAfterMs }) => note(`error ${code} ${retryAfterMs}`))
  all.subscribe({
    add: ({ object }) => note(`add ${object.name}`),
    update: ({ object }) => note(`update ${object.name}`),
    delete: ({ object }) => note(`delete ${object.name}`),
  })
  await all.start().synced()
  note('synced')
})
