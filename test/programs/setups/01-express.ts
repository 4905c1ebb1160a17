// What program 01 takes for granted: somebody who parses bodies, and a process that goes on until it is told to end. Its
// `await using` stands in the module, which as printed is done as soon as it listens.
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
  process.exit() // Its server and its pool nobody ends.
}
