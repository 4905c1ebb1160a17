// Program 01 assumes a parser of request bodies, and a process that runs until SIGTERM. Its `await using` is at the top
// level of the module, which as printed ends as soon as it listens.
import { once } from 'node:events'
import express from 'express'
import { createInformer } from 'listwatch'
import { memorySource } from 'listwatch/memory'

const { post } = express.application
Object.assign(express.application, {
  post(this: express.Application, ...route: Parameters<typeof post>): unknown {
    return Reflect.apply(post, this.use(express.json()), route)
  },
})

const informers = Object.getPrototypeOf(createInformer({ source: memorySource() })) as AsyncDisposable
const dispose = informers[Symbol.asyncDispose]
informers[Symbol.asyncDispose] = async function (this: AsyncDisposable) {
  await once(process, 'SIGTERM')
  await dispose.call(this)
  process.exit() // The program never closes its server and its pool.
}
