import { describeListerWatcher } from '../../src/testing/index.js'
import { memoryHarness } from './memory-harness.js'

await describeListerWatcher('the memory source', memoryHarness)
